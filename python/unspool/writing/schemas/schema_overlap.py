"""Decides whether a value may match two of several schemas; only then does `oneOf` differ from `anyOf`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from unspool.core.schema.schema import (
    Anything,
    Definitions,
    Listed,
    Named,
    Nothing,
    ObjectOf,
    OneOf,
    Schema,
)
from unspool.writing.schemas.schema_enums import json_type

__all__ = ["overlap"]

MAX_CHOICES = 40


def overlap(choices: Sequence[Schema], definitions: Definitions) -> bool:
    """Return False only if no value can match two of the choices.

    Keys other than the named ones are not considered, because the schema may allow them.
    """
    possible = [choice for choice in choices if not isinstance(choice, Nothing)]
    if len(possible) > MAX_CHOICES:
        return True
    return not all(_are_apart(first, second, definitions, 2) for first, second in combinations(possible, 2))


def _are_apart(first: Schema, second: Schema, definitions: Definitions, depth: int) -> bool:
    """Whether no value matches both, judged by types, listed values and required keys."""
    first, second = _resolve(first, definitions), _resolve(second, definitions)
    if depth == 0 or any(isinstance(schema, (Anything, Nothing, Named)) for schema in (first, second)):
        return False
    match first, second:
        case (OneOf(options), rest) | (rest, OneOf(options)):
            return len(options) <= MAX_CHOICES and all(
                _are_apart(option, rest, definitions, depth - 1) for option in options
            )
        case Listed(values), Listed(others):
            listed = {(json_type(value), value) for value in values}
            return not any((json_type(value), value) in listed for value in others)
        case (Listed(values), rest) | (rest, Listed(values)):
            return not any(_has_type(value, _type(rest)) for value in values)
        case ObjectOf(), ObjectOf():
            return any(
                name in second.required
                and _are_apart(first.named[name], second.named[name], definitions, depth - 1)
                for name in first.required
            )
    return _type(first) != _type(second) and {_type(first), _type(second)} != {"integer", "number"}


def _resolve(schema: Schema, definitions: Definitions) -> Schema:
    for _ in range(8):
        if not isinstance(schema, Named):
            return schema
        schema = definitions[schema.name]
    return Anything()


def _type(schema: Schema) -> str:
    assert not isinstance(schema, (Anything, Nothing, Named, OneOf, Listed))
    return schema.type


def _has_type(value: Any, name: str) -> bool:
    found = json_type(value)
    return found == name or (found == "integer" and name == "number")
