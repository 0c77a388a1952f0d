"""A JSON Schema, reduced to the types that its values may have.

Schemas come with requests: what is none says nothing, and no schema takes long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["Value", "read_parameters"]

# The bits of csrc/format/type_set.h.
_BITS = {
    "null": 1,
    "boolean": 2,
    "integer": 4,
    "number": 8,
    "string": 16,
    "array": 32,
    "object": 64,
}
_ANY = 0x7F
_MAX_DEPTH = 32  # of schemas that are put together from others
_MAX_LEVEL = 6  # of values inside values
_MAX_PARTS = 4_000

# (bits of the types, the properties' values, the value of a list's items)
Value = tuple[int, dict[str, Any], Any]


def read_parameters(schema: Any) -> dict[str, Value]:
    """The properties of an object's schema, as deep as it stays small: one may refer to itself many times."""
    for max_level in range(_MAX_LEVEL, 0, -1):
        try:
            return _Reader(schema, max_level, _MAX_PARTS).properties(schema, 0)
        except _TooManyParts:
            continue
    return _Reader(schema, 0, None).properties(schema, 0)


class _TooManyParts(Exception):
    pass


class _Reader:
    """Reads one document, values inside values down to a level."""

    def __init__(self, root: Any, max_level: int, parts_left: int | None) -> None:
        self._root = root
        self._max_level = max_level
        self._parts_left = parts_left
        self._known_types: dict[int, int] = {}  # by the schema's id; the document keeps them alive

    def properties(self, schema: Any, level: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for part in self._parts(schema):
            properties = part.get("properties")
            for name, value in properties.items() if isinstance(properties, Mapping) else ():
                types, inner, items = self._value(value, level)
                if name in found:
                    types |= found[name][0]
                    inner = {**found[name][1], **inner}
                    items = found[name][2] or items
                found[name] = (types, inner, items)
        return found

    def _value(self, schema: Any, level: int) -> Value:
        """A value's types, and those of what is inside it."""
        types = self._types(schema, 0)
        if level == self._max_level:
            return types, {}, None
        items = next((part["items"] for part in self._parts(schema) if "items" in part), None)
        inner = None if items is None else self._value(items, level + 1)
        return types, self.properties(schema, level + 1), inner

    def _parts(self, schema: Any) -> Iterator[Mapping[str, Any]]:
        """The schema and what it is put together from, each once."""
        seen: set[int] = set()
        waiting = [schema]
        while waiting:
            part = waiting.pop()
            if not isinstance(part, Mapping) or id(part) in seen:
                continue
            seen.add(id(part))
            if self._parts_left is not None:
                self._parts_left -= 1
                if self._parts_left < 0:
                    raise _TooManyParts
            yield part
            inner = [self._resolve(part["$ref"])] if "$ref" in part else []
            for key in ("allOf", "anyOf", "oneOf"):
                inner += _list(part, key)
            waiting += reversed(inner)

    def _types(self, schema: Any, depth: int) -> int:
        """The types that a value may have, as bits; all of them where the schema does not say."""
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return _ANY
        known = self._known_types.get(id(schema))
        if known is None:
            self._known_types[id(schema)] = _ANY  # what a reference back to it says
            known = self._known_types[id(schema)] = self._read_types(schema, depth)
        return known

    def _read_types(self, schema: Mapping[str, Any], depth: int) -> int:
        types = _ANY
        declared = schema.get("type")
        if declared is not None:
            names = declared if isinstance(declared, list) else [declared]
            types &= _union(_BITS.get(name, 0) for name in names if isinstance(name, str)) or _ANY
        if "const" in schema:
            types &= _type_of(schema["const"])
        if values := _list(schema, "enum"):
            types &= _union(_type_of(value) for value in values)
        if "$ref" in schema:
            types &= self._types(self._resolve(schema["$ref"]), depth + 1)
        for part in _list(schema, "allOf"):
            types &= self._types(part, depth + 1)
        for key in ("anyOf", "oneOf"):
            if parts := _list(schema, key):
                types &= _union(self._types(part, depth + 1) for part in parts)
        if types == _ANY and "properties" in schema:
            types = _BITS["object"]
        if types == _ANY and ("items" in schema or "prefixItems" in schema):
            types = _BITS["array"]
        if schema.get("nullable") is True:
            types |= _BITS["null"]
        return types or _ANY

    def _resolve(self, reference: Any) -> Any:
        """A reference into the same document; anything else says nothing."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return True
        node = self._root
        for part in reference[1:].split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(node, Mapping) or key not in node:
                return True
            node = node[key]
        return node


def _list(schema: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = schema.get(key)
    return value if isinstance(value, list) else ()


def _union(types: Iterable[int]) -> int:
    bits = 0
    for type in types:
        bits |= type
    return bits


def _type_of(value: Any) -> int:
    if value is None:
        return _BITS["null"]
    if isinstance(value, bool):
        return _BITS["boolean"]
    if isinstance(value, int):
        return _BITS["integer"] | _BITS["number"]
    if isinstance(value, float):
        return _BITS["number"]
    if isinstance(value, str):
        return _BITS["string"]
    return _BITS["array"] if isinstance(value, list) else _BITS["object"]
