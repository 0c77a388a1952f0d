"""What a request's tools say of their parameters, reduced to what the parser needs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from unspool._core import ToolSchemas
from unspool.errors import ArgumentError

__all__ = ["compile_tools"]

# The bits of csrc/format/schema.h.
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
_MAX_DEPTH = 32
_MAX_LEVEL = 6

# (bits of the types, the properties' values, the value of a list's items)
Value = tuple[int, dict[str, Any], Any]


def compile_tools(tools: Iterable[Any] | ToolSchemas | None) -> ToolSchemas | None:
    """Compile tools as chat or Responses requests hold them; None stays None: not known.

    Raises:
        ArgumentError: A tool has no name, or is not a mapping (or an object with `model_dump`).
    """
    if tools is None or isinstance(tools, ToolSchemas):
        return tools
    if isinstance(tools, (str, bytes, Mapping)):
        raise ArgumentError(f"tools is a {type(tools).__name__}; pass a list of tools")
    return ToolSchemas(dict(_tool(index, tool) for index, tool in enumerate(tools)))


def _tool(index: int, tool: Any) -> tuple[str, dict[str, Value]]:
    data = tool.model_dump() if hasattr(tool, "model_dump") else tool
    if not isinstance(data, Mapping):
        raise ArgumentError(f"tools[{index}] is a {type(tool).__name__}; pass a dict")
    function = data.get("function") or data
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"tools[{index}] has no name; write {{'function': {{'name': ...}}}}")
    schema = function.get("parameters") or function.get("input_schema") or {}
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except ValueError as error:
            raise ArgumentError(f"the parameters of tools[{index}] ({name}) are no JSON: {error}") from None
    return name, _parameters(schema)


def _parameters(schema: Any) -> dict[str, Value]:
    return _properties(schema, schema, 0)


def _properties(schema: Any, root: Any, level: int) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for part in _parts(schema, root, 0):
        for name, value in (part.get("properties") or {}).items():
            types, properties, items = _value(value, root, level)
            if name in found:
                types |= found[name][0]
                properties = {**found[name][1], **properties}
                items = found[name][2] or items
            found[name] = (types, properties, items)
    return found


def _value(schema: Any, root: Any, level: int) -> Value:
    """A value's types, and those of what is inside it."""
    types = _types(schema, root, 0)
    if level == _MAX_LEVEL:  # a schema may refer to itself
        return types, {}, None
    items = next((part["items"] for part in _parts(schema, root, 0) if "items" in part), None)
    inner = None if items is None else _value(items, root, level + 1)
    return types, _properties(schema, root, level + 1), inner


def _parts(schema: Any, root: Any, depth: int) -> Iterable[Mapping[str, Any]]:
    """The schema and what it is put together from."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return
    yield schema
    if "$ref" in schema:
        yield from _parts(_resolve(schema["$ref"], root), root, depth + 1)
    for key in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(key) or ():
            yield from _parts(part, root, depth + 1)


def _types(schema: Any, root: Any, depth: int) -> int:
    """The types that a value may have, as bits; all of them where the schema does not say."""
    if schema is True or not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return _ANY
    types = _ANY
    declared = schema.get("type")
    if declared is not None:
        names = declared if isinstance(declared, list) else [declared]
        types &= sum({_BITS[name] for name in names if name in _BITS}) or _ANY
    if "const" in schema:
        types &= _type_of(schema["const"])
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        types &= _union(_type_of(value) for value in schema["enum"]) or _ANY
    if "$ref" in schema:
        types &= _types(_resolve(schema["$ref"], root), root, depth + 1)
    for part in schema.get("allOf") or ():
        types &= _types(part, root, depth + 1)
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            types &= _union(_types(part, root, depth + 1) for part in schema[key])
    if types == _ANY and "properties" in schema:
        types = _BITS["object"]
    if types == _ANY and ("items" in schema or "prefixItems" in schema):
        types = _BITS["array"]
    if schema.get("nullable") is True:
        types |= _BITS["null"]
    return types or _ANY


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


def _resolve(reference: Any, root: Any) -> Any:
    """A reference into the same document; anything else says nothing."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return True
    node = root
    for part in reference[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, Mapping) or key not in node:
            return True
        node = node[key]
    return node
