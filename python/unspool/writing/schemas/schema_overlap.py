"""Decides whether a value may match two of several schemas; only then does `oneOf` differ from `anyOf`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from unspool.writing.schemas.schema_enums import json_type
from unspool.writing.schemas.schema_prune import name_of

__all__ = ["overlap"]

MAX_CHOICES = 40


def overlap(choices: Sequence[Any], definitions: Mapping[str, Any]) -> bool:
    """Return False only if no value can match two of the choices.

    Keys other than the named ones are not considered, because the schema may allow them.
    """
    possible = [choice for choice in choices if choice is not False]
    if len(possible) > MAX_CHOICES:
        return True
    return not all(_are_apart(one, other, definitions, 2) for one, other in combinations(possible, 2))


def _are_apart(one: Any, other: Any, definitions: Mapping[str, Any], depth: int) -> bool:
    """Whether no value matches both, judged by types, listed values and required keys."""
    one, other = _resolve(one, definitions), _resolve(other, definitions)
    if not one or not other or depth == 0:
        return False
    for union, rest in ((one, other), (other, one)):
        if "anyOf" in union:
            options = union["anyOf"]
            return len(options) <= MAX_CHOICES and all(
                _are_apart(option, rest, definitions, depth - 1) for option in options
            )
    if "enum" in one and "enum" in other:
        listed = {(json_type(value), value) for value in one["enum"]}
        return not any((json_type(value), value) in listed for value in other["enum"])
    if "enum" in one or "enum" in other:
        listed, rest = (one, other) if "enum" in one else (other, one)
        return not any(_has_type(value, rest["type"]) for value in listed["enum"])
    if one["type"] != other["type"]:
        return {one["type"], other["type"]} != {"integer", "number"}
    if one["type"] != "object":
        return False
    return any(
        name in other.get("required", ())
        and _are_apart(one["properties"][name], other["properties"][name], definitions, depth - 1)
        for name in one.get("required", ())
    )


def _resolve(node: Any, definitions: Mapping[str, Any]) -> Any:
    for _ in range(8):
        name = name_of(node)
        if name is None:
            return node
        node = definitions[name]
    return {}


def _has_type(value: Any, name: str) -> bool:
    found = json_type(value)
    return found == name or (found == "integer" and name == "number")
