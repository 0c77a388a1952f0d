"""Makes a value that fits a JSON Schema, for answers that no model writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.core.schema.references import References

__all__ = ["example_value"]

# A client's schema may refer to itself, or ask for a billion items.
_MAX_DEPTH = 32
_MAX_PARTS = 2000
_MAX_ITEMS = 100
_MAX_TEXT = 1000
# Deeper than this, only required parts are written.
_DEEP = 8

_VALUES: dict[str, Any] = {"boolean": True, "null": None}
_STRINGS = {
    "date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31", "time": "12:00:00Z", "duration": "P1D",
    "email": "ada@example.org", "hostname": "example.org", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
    "uuid": "12345678-1234-4234-8234-123456789abc", "uri": "https://example.org/",
}  # fmt: skip


def example_value(schema: Any) -> Any:
    """Return a value that fits most schemas; an object has all its properties.

    Patterns are ignored. If the schema demands too much, the value is "Paris".
    """
    return _Example(schema).value(schema, 0)


class _Example:
    def __init__(self, root: Any) -> None:
        self._references = References(root)
        self._parts = 0

    def value(self, schema: Any, depth: int) -> Any:
        self._parts += 1
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH or self._parts > _MAX_PARTS:
            return "Paris"
        for key in ("const", "default"):
            if key in schema:
                return schema[key]
        for key in ("enum", "examples"):
            if schema.get(key):
                return schema[key][0]
        if isinstance(schema.get("$ref"), str):
            return self.value(self._references.target(schema), depth + 1)
        for key in ("anyOf", "oneOf", "allOf"):
            if schema.get(key):
                # In a schema that refers to itself, the last alternative usually is null.
                return self.value(schema[key][-1 if depth > _DEEP else 0], depth + 1)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        kind = kind[0] if isinstance(kind, list) and kind else kind
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind in ("integer", "number"):
            return _number(schema, 3 if kind == "integer" else 1.5)
        return _VALUES[kind] if kind in _VALUES else _string(schema)

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        named = schema.get("properties", {})
        if depth > _DEEP:
            named = {name: named.get(name) for name in schema.get("required", ())}
        return {name: self.value(inner, depth + 1) for name, inner in named.items()}

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        usual = 0 if depth > _DEEP or schema.get("maxItems") == 0 else 1
        count = min(max(schema.get("minItems", 0), usual), _MAX_ITEMS)
        return [self.value(schema.get("items"), depth + 1) for _ in range(count)]


def _number(schema: Mapping[str, Any], usual: float) -> float:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and usual < least:
        return float(least) if isinstance(usual, float) else int(least)
    return usual if most is None or usual <= most else most


def _string(schema: Mapping[str, Any]) -> str:
    text = _STRINGS.get(str(schema.get("format")), "Paris")
    return text.ljust(min(schema.get("minLength", 0), _MAX_TEXT), "s")[: schema.get("maxLength", _MAX_TEXT)]
