"""Validates a finished value against its original schema, including rules that a grammar cannot enforce.

Neither is trusted: the schema is from a client, the value from a model. Therefore nothing is fetched, patterns
match in linear time, and the work is bounded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from unspool.core.schema.check_keywords import (
    TooMuchWork,
    document,
    has_patterns,
    references,
    steps,
    validator_class,
)
from unspool.core.schema.references import References
from unspool.errors import ArgumentError, UnspoolError

__all__ = ["Violation", "check", "check_arguments", "escape_pointer"]

MAX_VIOLATIONS = 20
MAX_MESSAGE = 300


@dataclass(frozen=True)
class Violation:
    """A place where a value violates its schema, and the reason."""

    path: str
    """A JSON pointer into the value, such as "#/items/0"; "#" is the value itself."""
    rule: str
    """The violated keyword, such as "required" or "type"; "json" if the text is not JSON or an object in it has a
    key twice; "schema" if the schema itself is malformed."""
    value: Any = field(hash=False)
    """The part of the value at the path."""
    message: str


def check(value: Any, schema: Mapping[str, Any] | bool | None) -> list[Violation]:
    """Return at most 20 violations of a schema; an empty list if the value is valid.

    `format` and patterns with look-around are not checked; references to other documents are not followed.

    Args:
        value: The parsed arguments or answer.
        schema: The schema in the request. None means any object.

    Raises:
        UnspoolError: jsonschema is not installed, or older than 4.18.
        ArgumentError: The schema is malformed in a part that `normalise` drops.
    """
    validator = validator_class()(
        {"type": "object"} if schema is None else schema, registry=_empty_registry()
    )
    root, counted, spent = document.set(References(schema)), references.set([0]), steps.set([0])
    patterned = has_patterns.set(_holds(schema, "patternProperties"))
    try:
        return [
            Violation(
                "/".join(("#", *(escape_pointer(str(key)) for key in error.absolute_path))),
                str(error.validator or "false"),
                error.instance,
                error.message[:MAX_MESSAGE],
            )
            for error in islice(validator.iter_errors(value), MAX_VIOLATIONS)
        ]
    except (RecursionError, TooMuchWork):
        return [
            Violation(
                "#",
                "$ref",
                value,
                "the value is too large or nested too deeply to compare it with the schema",
            )
        ]
    except Exception as error:  # jsonschema raises many types for an invalid schema
        raise ArgumentError(f"the schema is malformed: {error!s:.200}") from error
    finally:
        document.reset(root)
        references.reset(counted)
        steps.reset(spent)
        has_patterns.reset(patterned)


def check_arguments(text: str, schema: str | None) -> tuple[Violation, ...]:
    """Return the violations of a tool's schema by a call's arguments.

    Neither the arguments nor the schema can cause an exception. At most 20 keys that an object has twice are
    reported, then at most 20 violations of the schema.

    Args:
        text: The arguments, as JSON text.
        schema: The schema, as JSON text. None: only the JSON itself is checked.

    Raises:
        UnspoolError: As in `check`.
    """
    twice: list[str] = []
    try:
        value = json.loads(text, object_pairs_hook=lambda members: _as_dict(members, twice))
    except (ValueError, RecursionError) as error:
        return (Violation("#", "json", text, f"the arguments are not JSON: {error!s:.200}"),)
    violations = tuple(
        Violation(
            "#", "json", name, f"a value has the key {name[:100]!r} twice; its readers take one of them"
        )
        for name in twice[:MAX_VIOLATIONS]
    )
    try:
        return violations if schema is None else (*violations, *check(value, json.loads(schema)))
    except (ValueError, RecursionError) as error:
        return (*violations, Violation("#", "schema", value, str(error)))


def _as_dict(members: list[tuple[str, Any]], twice: list[str]) -> dict[str, Any]:
    """Build the dict of an object; keys that occur more than once are added to `twice`."""
    made = dict(members)
    if len(made) < len(members):
        seen = set[str]()
        for name, _ in members:
            if name in seen:
                twice.append(name)
            seen.add(name)
    return made


def escape_pointer(key: str) -> str:
    """A key as a part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def _holds(schema: Any, keyword: str) -> bool:
    """Whether a key occurs anywhere in the schema."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            if keyword in part:
                return True
            waiting.extend(part.values())
        elif isinstance(part, (list, tuple)):
            waiting.extend(part)
    return False


def _empty_registry() -> Any:
    try:
        from referencing import Registry
    except ImportError:
        raise UnspoolError("checking a schema needs jsonschema 4.18; pip install -U jsonschema") from None
    return Registry()  # jsonschema's own registry would fetch references
