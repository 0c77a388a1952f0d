"""The types that a schema allows; text between tags is written by its type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["ANY_TYPE", "only", "resolve", "types_of"]

ANY_TYPE = ("string", "number", "boolean", "object", "array", "null")


def resolve(schema: Any, root: Any) -> Any:
    """The schema, or the target of its `$ref`; follows at most 32 references."""
    for _ in range(32):
        if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
            return schema
        target: Any = root
        for key in schema["$ref"].lstrip("#").strip("/").split("/"):
            name = key.replace("~1", "/").replace("~0", "~")
            if name and isinstance(target, Mapping):
                target = target.get(name, {})
        schema = target
    return {}


def types_of(schema: Any, root: Any) -> tuple[str, ...]:
    """The types of a schema's values; "integer" is separate from "number"."""
    schema = resolve(schema, root)
    if not isinstance(schema, Mapping):
        return ANY_TYPE
    if "const" in schema or "enum" in schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return tuple(dict.fromkeys(map(_type_name, values)))
    for word in ("anyOf", "oneOf"):
        if word in schema:
            found = [name for one in schema[word] for name in types_of(one, root)]
            return tuple(dict.fromkeys(found))
    kind = schema.get("type")
    if kind is None:
        return ("object",) if "properties" in schema else ("array",) if "items" in schema else ANY_TYPE
    return tuple(kind) if isinstance(kind, list) else (kind,)


def _type_name(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def only(name: str, schema: Any, root: Any) -> Any:
    """The part of a schema with one type."""
    schema = resolve(schema, root)
    if not isinstance(schema, Mapping):
        return {"type": name}
    if "enum" in schema or "const" in schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return {"enum": [value for value in values if types_of({"const": value}, root) == (name,)]}
    for word in ("anyOf", "oneOf"):
        if word in schema:
            parts = [only(name, one, root) for one in schema[word] if name in types_of(one, root)]
            return parts[0] if len(parts) == 1 else {"anyOf": parts}
    return {**schema, "type": name}
