"""Makes a value that fits a JSON Schema, for answers that no model writes."""

from __future__ import annotations

from typing import Any

from unspool.core.schema.references import References
from unspool.core.schema.source import Items, Keys, Part, Range, Source
from unspool.errors import ArgumentError

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

    Patterns are ignored. If the schema demands too much, or a part of it is malformed, the value is "Paris".
    """
    return _Example(schema).value(Source(schema, "#"), 0)


class _Example:
    def __init__(self, root: Any) -> None:
        self._references = References(root)
        self._parts = 0

    def value(self, source: Source | None, depth: int) -> Any:
        self._parts += 1
        if source is None or depth > _MAX_DEPTH or self._parts > _MAX_PARTS:
            return "Paris"
        try:
            return self._value(source, depth)
        except ArgumentError:
            return "Paris"

    def _value(self, source: Source, depth: int) -> Any:
        if source.suggested:
            return source.suggested[0]
        if source.reference is not None:
            return self.value(Source(self._references.target(source.schema), "#"), depth + 1)
        choices = source.any_of or source.one_of or source.all_of
        if choices:
            # In a schema that refers to itself, the last alternative usually is null.
            return self.value(choices[-1 if depth > _DEEP else 0].source, depth + 1)
        kind = source.type_names[0] if source.has_type else "object" if source.has_properties else "string"
        if kind == "object":
            return self._object(source.keys, depth)
        if kind == "array":
            return self._list(source.items, depth)
        if kind in ("integer", "number"):
            return _number(source.range, 3 if kind == "integer" else 1.5)
        return _VALUES[kind] if kind in _VALUES else _string(source)

    def _object(self, keys: Keys, depth: int) -> dict[str, Any]:
        names = keys.required if depth > _DEEP else keys.named
        return {name: self._part(keys.named.get(name), depth + 1) for name in names}

    def _list(self, items: Items, depth: int) -> list[Any]:
        usual = 0 if depth > _DEEP or items.count.most == 0 else 1
        count = min(max(items.count.least or 0, usual), _MAX_ITEMS)
        return [self._part(items.others, depth + 1) for _ in range(count)]

    def _part(self, part: Part | None, depth: int) -> Any:
        return self.value(None if part is None else part.source, depth)


def _number(said: Range, usual: float) -> float:
    least, most = (
        next((one.number for one in side if one.belongs), None) for side in (said.lowest, said.highest)
    )
    if least is not None and usual < least:
        return float(least) if isinstance(usual, float) else int(least)
    return usual if most is None or usual <= most else most


def _string(source: Source) -> str:
    text, lengths = _STRINGS.get(str(source.format), "Paris"), source.text
    return text.ljust(min(lengths.least or 0, _MAX_TEXT), "s")[
        : _MAX_TEXT if lengths.most is None else lengths.most
    ]
