"""The types that a schema allows, since the type decides how a value is written between tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["ANY_TYPE", "alternatives", "only", "resolve", "types_of"]

ANY_TYPE = ("string", "number", "boolean", "object", "array", "null")


def resolve(schema: Any, root: Any) -> Any:
    """Return the schema, or the target of its `$ref`, following at most 32 references."""
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


def alternatives(schema: Any, root: Any) -> list[Any]:
    """The schemas of a union and of nested unions, each once; else only the schema itself. References are resolved."""
    waiting, seen, found = [schema], set[int](), []
    while waiting:
        one = resolve(waiting.pop(), root)
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Mapping) and "anyOf" in one:
            waiting += reversed(one["anyOf"])
        else:
            found.append(one)
    return found


def types_of(schema: Any, root: Any) -> tuple[str, ...]:
    """The types of a schema's values; "integer" is separate from "number"."""
    return tuple(dict.fromkeys(name for one in alternatives(schema, root) for name in _types(one)))


def _types(schema: Any) -> tuple[str, ...]:
    if not isinstance(schema, Mapping):
        return ANY_TYPE
    if "const" in schema or "enum" in schema:
        return tuple(map(_type_name, _listed(schema)))
    kind = schema.get("type")
    if kind is None:
        return ("object",) if "properties" in schema else ("array",) if "items" in schema else ANY_TYPE
    return tuple(kind) if isinstance(kind, list) else (kind,)


def _listed(schema: Mapping[str, Any]) -> list[Any]:
    return [schema["const"]] if "const" in schema else list(schema["enum"])


def _type_name(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def only(name: str, schema: Any, root: Any) -> Any:
    """The part of a schema that allows one type."""
    parts = [_only(name, one) for one in alternatives(schema, root) if name in _types(one)]
    return parts[0] if len(parts) == 1 else {"anyOf": parts}


def _only(name: str, schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return {"type": name}
    if "enum" in schema or "const" in schema:
        return {"enum": [value for value in _listed(schema) if _type_name(value) == name]}
    return {**schema, "type": name}
