"""Compares a finished value with the schema as it was, for what a grammar cannot enforce.

Both come from outside: the schema from a client, the value from a model. So nothing is fetched, patterns match
in linear time, and the work is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from unspool.errors import ArgumentError, UnspoolError
from unspool.grammar.check_keywords import TooMuchWork, has_patterns, references, validator_class

__all__ = ["Violation", "check"]

MAX_VIOLATIONS = 20
MAX_MESSAGE = 300


@dataclass(frozen=True)
class Violation:
    """Where a value does not fit its schema, and why."""

    path: str
    """A JSON pointer into the value, as in "#/items/0"; "#" is the value itself."""
    keyword: str
    message: str


def check(value: Any, schema: Mapping[str, Any] | bool | None) -> list[Violation]:
    """What of a value does not fit its schema: at most 20 violations, none if it fits.

    `format` is not compared, nor a pattern that looks around; references to other documents are not followed.

    Args:
        value: The parsed arguments or answer.
        schema: As the request has it. None stands for any object.

    Raises:
        UnspoolError: jsonschema is not installed, or older than 4.18.
        ArgumentError: The schema is malformed in a place that `normalise` drops.
    """
    validator = validator_class()(
        {"type": "object"} if schema is None else schema, registry=_empty_registry()
    )
    counted = references.set([0])
    patterned = has_patterns.set(_holds(schema, "patternProperties"))
    try:
        return [
            Violation(
                "/".join(
                    ("#", *(str(key).replace("~", "~0").replace("/", "~1") for key in error.absolute_path))
                ),
                str(error.validator or "false"),
                error.message[:MAX_MESSAGE],
            )
            for error in islice(validator.iter_errors(value), MAX_VIOLATIONS)
        ]
    except (RecursionError, TooMuchWork):
        return [Violation("#", "$ref", "the value is nested too deeply to compare it with the schema")]
    except Exception as error:  # jsonschema raises many kinds for a schema that is none
        raise ArgumentError(f"the schema is malformed: {error!s:.200}") from error
    finally:
        references.reset(counted)
        has_patterns.reset(patterned)


def _holds(schema: Any, keyword: str) -> bool:
    """Whether a key stands anywhere in the schema."""
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
    return Registry()  # jsonschema's own would fetch what a reference names
