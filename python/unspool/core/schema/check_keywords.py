"""`check`'s own implementations of some keywords: bounded, without fetching, and with the spellings of older
drafts."""

from __future__ import annotations

import json
import math
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from decimal import Decimal
from functools import lru_cache
from typing import Any

from unspool.core.regular.match_pattern import Matcher
from unspool.core.regular.schema_patterns import PatternError, parse_pattern
from unspool.core.schema.references import MISSING, References
from unspool.errors import UnspoolError

__all__ = ["TooMuchWork", "document", "has_patterns", "references", "steps", "validator_class"]

MAX_REFERENCES = 10_000
STACK_MARGIN = 300
#: Maximum number of keywords, their entries, and states of patterns that are compared: about ten seconds.
MAX_STEPS = 5_000_000

Handler = Callable[[Any, Any, Any, Any], Iterator[Any] | None]
#: What is wrong with a value, from the keyword's value, the value and the schema.
Problem = Callable[[Any, Any, Any], str | None]
document: ContextVar[References] = ContextVar("document")
references: ContextVar[list[int]] = ContextVar("references")
steps: ContextVar[list[int]] = ContextVar("steps")
has_patterns: ContextVar[bool] = ContextVar("has_patterns")


class TooMuchWork(Exception):
    """Raised when a comparison takes too many steps or nests too deeply."""


@lru_cache(maxsize=1)
def validator_class() -> Any:
    """Return jsonschema's validator for draft 2020-12 with these keywords.

    Raises:
        UnspoolError: jsonschema is not installed.
    """
    try:
        from jsonschema import Draft7Validator, Draft202012Validator, ValidationError, validators
    except ImportError:
        raise UnspoolError("checking a schema needs jsonschema; pip install 'unspool[constrain]'") from None
    known = Draft202012Validator.VALIDATORS
    handlers: dict[str, Handler] = {
        "dependencies": Draft7Validator.VALIDATORS["dependencies"],
        "items": _items_handler(known["items"]),
        "$ref": _reference,
        "$dynamicRef": _local_only(known["$dynamicRef"]),
        "pattern": _reporting(ValidationError, _pattern),
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties(ValidationError),
        "unevaluatedProperties": _without_patterns(known["unevaluatedProperties"]),
        "uniqueItems": _reporting(ValidationError, _unique),
        "multipleOf": _reporting(ValidationError, _multiple),
        "exclusiveMinimum": _reporting(ValidationError, _strict_bound("minimum", "above", operator.le)),
        "exclusiveMaximum": _reporting(ValidationError, _strict_bound("maximum", "below", operator.ge)),
    }
    for keyword in ("type", "enum", "const", "$ref", "allOf", "anyOf", "oneOf"):
        handlers[keyword] = _unless_null(handlers.get(keyword, known[keyword]))
    counted = {keyword: _counted(handler) for keyword, handler in {**known, **handlers}.items()}
    return validators.extend(Draft202012Validator, counted)


def _spend(cost: int) -> None:
    count = steps.get()
    count[0] += cost
    if count[0] > MAX_STEPS:
        raise TooMuchWork


def _counted(handler: Handler) -> Handler:
    def check_value(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any] | None:
        _spend(len(said) + 1 if isinstance(said, (list, dict)) else 1)
        return handler(validator, said, value, schema)

    return check_value


def _unless_null(handler: Handler) -> Handler:
    """Skip the keyword for null if OpenAPI's `nullable` allows it."""

    def check_value(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
        if value is not None or schema.get("nullable") is not True:
            yield from handler(validator, said, value, schema) or ()

    return check_value


def _count_reference() -> None:
    count = references.get()
    count[0] += 1
    if count[0] > MAX_REFERENCES or _is_stack_deep():
        raise TooMuchWork


def _reference(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
    """Follow a reference within the document; any other one is not checked."""
    _count_reference()
    target = document.get().target(schema) if isinstance(said, str) else MISSING
    if isinstance(target, (Mapping, bool)):
        yield from validator.descend(value, target)


def _local_only(handler: Handler) -> Handler:
    """Follow dynamic references only within the document."""
    from referencing.exceptions import Unresolvable

    def check_value(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
        _count_reference()
        if not isinstance(said, str) or not said.startswith("#"):
            return
        with suppress(Unresolvable):  # a value whose schema is missing is not checked
            yield from handler(validator, said, value, schema) or ()

    return check_value


def _is_stack_deep() -> bool:
    """Whether the interpreter's recursion limit is near; a library that jsonschema uses panics at the limit."""
    try:
        sys._getframe(max(sys.getrecursionlimit() - STACK_MARGIN, 1))
    except ValueError:
        return False
    return True


def _items_handler(handler: Handler) -> Handler:
    """Also accept a list of schemas as `items`, as before draft 2020-12."""

    def check_value(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(said, list):
            yield from handler(validator, said, value, schema) or ()
        elif isinstance(value, list):
            rest = schema.get("additionalItems", True)
            for index, item in enumerate(value):
                part = said[index] if index < len(said) else rest
                yield from validator.descend(item, part, path=index)

    return check_value


def _without_patterns(handler: Handler) -> Handler:
    """Skip the keyword if the schema has patterns: jsonschema matches them with `re`, in exponential time at worst."""

    def check_value(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
        if not has_patterns.get():
            yield from handler(validator, said, value, schema) or ()

    return check_value


def _reporting(error: Any, problem: Problem) -> Handler:
    def check_value(_validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
        message = problem(said, value, schema)
        if message is not None:
            yield error(message)

    return check_value


@lru_cache(maxsize=256)
def _matcher(pattern: str) -> Matcher | None:
    try:
        return Matcher(parse_pattern(pattern))
    except PatternError:
        return None


def _is_match(matcher: Matcher, text: str) -> bool:
    _spend(len(text) * matcher.size // 8 + 1)
    return matcher.matches(text)


def _pattern(said: Any, value: Any, _schema: Any) -> str | None:
    if not isinstance(value, str):
        return None
    matcher = _matcher(said)
    return (
        None if matcher is None or _is_match(matcher, value) else f"{value!r:.80} does not match {said!r:.80}"
    )


def _pattern_properties(validator: Any, said: Any, value: Any, _schema: Any) -> Iterator[Any]:
    for pattern, part in said.items() if isinstance(value, dict) else ():
        matcher = _matcher(pattern)
        for key, item in value.items():
            if matcher is not None and _is_match(matcher, key):
                yield from validator.descend(item, part, path=key, schema_path=pattern)


def _additional_properties(error: Any) -> Handler:
    def check_value(validator: Any, said: Any, value: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        matchers = [_matcher(pattern) for pattern in schema.get("patternProperties", ())]
        for key, item in value.items():
            if key in schema.get("properties", ()) or any(m is None or _is_match(m, key) for m in matchers):
                continue
            if said is False:
                yield error(f"the key {key!r:.80} is not allowed")
            else:
                yield from validator.descend(item, said, path=key)

    return check_value


def _unique(said: Any, value: Any, _schema: Any) -> str | None:
    if not said or not isinstance(value, list):
        return None
    texts = {json.dumps(_equal_form(item), sort_keys=True) for item in value}
    return None if len(texts) == len(value) else "the list has equal items"


def _equal_form(value: Any) -> Any:
    """Convert a value so that values that JSON Schema considers equal, such as 1 and 1.0, become equal."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_equal_form(item) for item in value]
    return {key: _equal_form(item) for key, item in value.items()} if isinstance(value, dict) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _multiple(said: Any, value: Any, _schema: Any) -> str | None:
    """Return what is wrong; computed in decimals, so that 0.3 is a multiple of 0.1."""
    if not _is_number(value) or value in (math.inf, -math.inf):
        return None
    step, number = Decimal(repr(said)).as_integer_ratio(), Decimal(repr(value)).as_integer_ratio()
    is_multiple = number[0] * step[1] % (number[1] * step[0]) == 0
    return None if is_multiple else f"{value!r} is not a multiple of {said!r}"


def _strict_bound(other: str, word: str, breaks: Callable[[Any, Any], bool]) -> Problem:
    def problem(said: Any, value: Any, schema: Any) -> str | None:
        # In draft 4, true excludes the bound in the other keyword.
        limit = said if said is not True and said is not False else schema.get(other) if said else None
        is_broken = _is_number(value) and limit is not None and breaks(value, limit)
        return f"{value!r} is not {word} {limit!r}" if is_broken else None

    return problem
