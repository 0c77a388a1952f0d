"""The types that a schema allows, since the type decides how a value is written between tags."""

from __future__ import annotations

from typing import Any

from unspool.core.schema.schema import (
    Anything,
    Boolean,
    Definitions,
    Listed,
    ListOf,
    Named,
    Nothing,
    Null,
    Number,
    ObjectOf,
    OneOf,
    Schema,
    Text,
    follow,
)

__all__ = ["ANY_TYPE", "alternatives", "only", "types_of", "whole_type"]

ANY_TYPE = ("string", "number", "boolean", "object", "array", "null")
_WHOLE_TYPES: dict[str, Schema] = {
    "string": Text(), "number": Number(), "integer": Number(is_integer=True), "boolean": Boolean(),
    "object": ObjectOf(), "array": ListOf(), "null": Null(),
}  # fmt: skip


def alternatives(schema: Schema, definitions: Definitions) -> list[Schema]:
    """The schemas of a union and of nested unions, each once; else only the schema itself. Names are followed."""
    waiting, seen, options = [schema], set[int](), list[Schema]()
    while waiting:
        option = follow(waiting.pop(), definitions)
        if id(option) in seen:
            continue
        seen.add(id(option))
        if isinstance(option, OneOf):
            waiting += reversed(option.options)
        else:
            options.append(option)
    return options


def types_of(schema: Schema, definitions: Definitions) -> tuple[str, ...]:
    """The types of a schema's values; "integer" is separate from "number"."""
    return tuple(dict.fromkeys(name for one in alternatives(schema, definitions) for name in _types(one)))


def _types(schema: Schema) -> tuple[str, ...]:
    match schema:
        case Listed(values):
            return tuple(map(_type_name, values))
        case Anything() | Nothing() | OneOf() | Named():
            return ANY_TYPE
    return (schema.type,)


def _type_name(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return names.get(type(value), "null")


def only(name: str, schema: Schema, definitions: Definitions) -> Schema:
    """The part of a schema that allows one type."""
    parts = [_only(name, one) for one in alternatives(schema, definitions) if name in _types(one)]
    return parts[0] if len(parts) == 1 else OneOf(tuple(parts))


def whole_type(schema: Schema) -> Schema:
    """All values of a schema's type; a schema without one type stays."""
    types = _types(schema)
    return _WHOLE_TYPES[types[0]] if len(types) == 1 else schema


def _only(name: str, schema: Schema) -> Schema:
    if isinstance(schema, Listed):
        return Listed(tuple(value for value in schema.values if _type_name(value) == name))
    return _WHOLE_TYPES[name] if isinstance(schema, (Anything, Nothing)) else schema
