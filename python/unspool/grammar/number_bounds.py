"""Bounds for numbers: a matcher's JSON has numbers of any size, and no client reads one beyond a double."""

from __future__ import annotations

from typing import Any

__all__ = ["bound_numbers"]

_MOST = 10**18
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_TABLES = ("properties", "patternProperties", "$defs", "definitions")
_ONES = ("items", "additionalProperties", "not")


def bound_numbers(schema: Any) -> Any:
    """The schema, with a least and a greatest value of each number that has none."""
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    for key in _LISTS:
        if isinstance(made.get(key), list):
            made[key] = [bound_numbers(one) for one in made[key]]
    for key in _TABLES:
        if isinstance(made.get(key), dict):
            made[key] = {name: bound_numbers(one) for name, one in made[key].items()}
    for key in _ONES:
        if key in made:
            made[key] = bound_numbers(made[key])
    return made if "enum" in made or "const" in made else _bounded(made)


def _bounded(schema: dict[str, Any]) -> dict[str, Any]:
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "number" not in kinds and "integer" not in kinds:
        return schema
    made = dict(schema)
    if "minimum" not in made and "exclusiveMinimum" not in made:
        made["minimum"] = -_MOST
    if "maximum" not in made and "exclusiveMaximum" not in made:
        made["maximum"] = _MOST
    return made
