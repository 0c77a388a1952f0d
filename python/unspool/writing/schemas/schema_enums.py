"""Merges the values that schemas list in `enum` and `const` with the other keywords."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from unspool.core.regular.match_pattern import Matcher
from unspool.core.regular.schema_patterns import PatternError, parse_pattern
from unspool.core.schema.keywords import KEYWORDS_OF_TYPE
from unspool.core.schema.schema import Listed, ListOf, Nothing, Number, ObjectOf, Schema
from unspool.core.schema.source import Part
from unspool.errors import ArgumentError
from unspool.writing.schemas.merging import Merging
from unspool.writing.schemas.schema_parts import MAX_DEPTH, Parts

__all__ = ["constant", "json_type", "merge_values"]


def merge_values(merger: Merging, parts: Sequence[Part], types: set[str], depth: int) -> list[Schema]:
    """Merge the values that all parts list and allow: plain values into one list, others by their parts."""
    listed: dict[str, Any] | None = None
    for part in parts:
        for stated in part.source.listed:
            values = [*stated, None] if part.is_nullable else stated
            merger.parts.spend(len(values))
            plain = [_plain(merger.parts, value, part, depth) for value in values]
            these = {_key(value): value for value in plain}
            listed = these if listed is None else {key: listed[key] for key in listed if key in these}
    left = [value for value in (listed or {}).values() if json_type(value) in types]
    limits = {
        name: merger.merge_type(name, parts, depth)
        for name in ("integer", "number")
        if any(json_type(value) == name for value in left)
    }
    scalars = [value for value in left if not isinstance(value, (dict, list))]
    scalars = [_shortest(value) for value in scalars if _fits(merger.parts, value, limits, parts)]
    nodes = [constant(value) for value in left if isinstance(value, (dict, list))]
    if nodes:
        keywords = (*KEYWORDS_OF_TYPE["object"], *KEYWORDS_OF_TYPE["array"])
        merger.parts.drop_all(parts, keywords, "the values that the schema lists are not compared with it")
    return [Listed(tuple(scalars)), *nodes] if scalars else nodes


def _plain(notes: Parts, value: Any, part: Part, depth: int) -> Any:
    """A listed value, if JSON can represent it."""
    notes.spend()
    if depth > MAX_DEPTH:
        raise ArgumentError(f"{part.path}: a listed value nests deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return {
            _plain(notes, key, part, depth): _plain(notes, item, part, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain(notes, item, part, depth + 1) for item in value]
    if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        raise ArgumentError(f"{part.path}: {value!r} has a lone surrogate, which no output can hold")
    if isinstance(value, float) and not math.isfinite(value):
        raise ArgumentError(f"{part.path}: {value!r} is not valid JSON; list a finite number")
    if value is not None and not isinstance(value, (str, int, float)):
        raise ArgumentError(f"{part.path}: a {type(value).__name__} is not valid JSON; list plain values")
    return value


def _key(value: Any) -> str:
    """A key that is equal for values that are equal in JSON Schema: for 1 and 1.0, but not for 1 and true."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_key(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_key, value)) + "]"
    return json.dumps(_shortest(value))


def _shortest(value: Any) -> Any:
    """Return an integer without a decimal point, so that all matchers write it in the same way."""
    is_whole = isinstance(value, float) and value == value // 1 and abs(value) < 2**53
    return int(value) if is_whole else value


def json_type(value: Any) -> str:
    """The JSON Schema type of a value; a whole number is an integer."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "integer" if value == value // 1 else "number"
    names = {str: "string", dict: "object", list: "array"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "null")


def _fits(notes: Parts, value: Any, limits: Mapping[str, Schema], parts: Sequence[Part]) -> bool:
    """Whether a plain value satisfies the lengths, bounds and patterns next to the list."""
    if isinstance(value, str):
        return all(_text_fits(notes, value, part) for part in parts)
    if isinstance(value, bool) or value is None:
        return True
    limit = limits[json_type(value)]
    if isinstance(limit, Listed):
        return value in limit.values
    if not isinstance(limit, Number) or (limit.is_integer and value != value // 1):
        return False
    low, high, step = limit.lowest, limit.highest, limit.step
    return (
        (low is None or value > low.number or (low.belongs and value == low.number))
        and (high is None or value < high.number or (high.belongs and value == high.number))
        and (step is None or Decimal(repr(value)) % Decimal(repr(step)) == 0)
    )


def _text_fits(notes: Parts, text: str, part: Part) -> bool:
    shortest, longest = part.source.text.least, part.source.text.most
    if len(text) < (shortest or 0) or (longest is not None and len(text) > longest):
        return False
    pattern = part.source.pattern
    if pattern is None:
        return True
    try:
        return Matcher(parse_pattern(pattern)).matches(text)
    except PatternError as error:
        notes.drop(part, "pattern", str(error))
        return True


def constant(value: Any) -> Schema:
    """A schema that only this value matches."""
    if isinstance(value, Mapping):
        members = tuple((key, constant(item)) for key, item in value.items())
        return ObjectOf(members, tuple(value), others=Nothing("the schema lists the value"))
    if isinstance(value, (list, tuple)):
        others = Nothing("the schema lists the value")
        return ListOf(tuple(map(constant, value)), others, len(value), len(value))
    return Listed((_shortest(value),))
