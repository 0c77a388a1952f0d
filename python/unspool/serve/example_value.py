"""A value that fits a JSON Schema, for answers that no model writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["example_value"]

_MAX_DEPTH = 32
_VALUES: dict[str, Any] = {"boolean": True, "null": None}
_STRINGS = {
    "date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31", "time": "12:00:00Z", "duration": "P1D",
    "email": "ada@example.org", "hostname": "example.org", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
    "uuid": "12345678-1234-4234-8234-123456789abc", "uri": "https://example.org/",
}  # fmt: skip


def example_value(schema: Any) -> Any:
    """A value that most schemas of their kind take; of an object all its properties. A pattern is not looked at."""
    return _value(schema, schema, 0)


def _value(schema: Any, root: Any, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return "Paris"
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("enum", "examples"):
        if schema.get(key):
            return schema[key][0]
    if isinstance(reference := schema.get("$ref"), str):
        return _value(_referred(reference, root), root, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            # The last is the shortest where a schema refers to itself: it is mostly null.
            return _value(schema[key][-1 if depth > _MAX_DEPTH // 4 else 0], root, depth + 1)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        return _object(schema, root, depth)
    if kind == "array":
        count = max(
            schema.get("minItems", 0), 1 if depth < _MAX_DEPTH // 4 and schema.get("maxItems") != 0 else 0
        )
        return [_value(schema.get("items"), root, depth + 1) for _ in range(count)]
    if kind in ("integer", "number"):
        return _number(schema, 3 if kind == "integer" else 1.5)
    return _VALUES[kind] if kind in _VALUES else _string(schema)


def _object(schema: Mapping[str, Any], root: Any, depth: int) -> dict[str, Any]:
    named = schema.get("properties", {})
    wanted = (
        named if depth < _MAX_DEPTH // 4 else {name: named.get(name) for name in schema.get("required", ())}
    )
    return {name: _value(inner, root, depth + 1) for name, inner in wanted.items()}


def _number(schema: Mapping[str, Any], usual: float) -> float:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and usual < least:
        return float(least) if isinstance(usual, float) else int(least)
    return usual if most is None or usual <= most else most


def _string(schema: Mapping[str, Any]) -> str:
    text = _STRINGS.get(str(schema.get("format")), "Paris")
    return text.ljust(schema.get("minLength", 0), "s")[: schema.get("maxLength", len(text) + 1000)]


def _referred(reference: str, root: Any) -> Any:
    """The part of the root that a local reference names."""
    found = root
    for key in reference.removeprefix("#").strip("/").split("/"):
        name = key.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) and name else found
    return found
