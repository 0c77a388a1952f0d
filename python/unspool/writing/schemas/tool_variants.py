"""The object schemas of a tool's arguments, for formats that write each parameter separately.

Most tools have one object schema. A schema that is a union, or a list of values, has several.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unspool.writing.schemas.schema_types import alternatives, types_of

__all__ = ["object_variants"]


def object_variants(schema: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], bool]:
    """Return the object schemas of a normalised schema, and whether arguments that fit one of them fit the schema.

    A parser derives the type of a parameter from its name alone. So if a name has different types in two objects, one
    object replaces all of them: it requires the keys that every object requires, and allows any of the schemas of each
    name.
    """
    found = [one for part in alternatives(schema, schema) for one in _objects(part)]
    if len(found) == 1 and found[0] is schema:
        return found, True
    known: dict[str, dict[str, Any]] = {}
    for one in found:
        for key, value in one.get("properties", {}).items():
            known.setdefault(key, {})[json.dumps(value, sort_keys=True)] = value
    parameters = {key: list(schemas.values()) for key, schemas in known.items()}
    have_one_type = all(_have_one_type(schemas, schema) for schemas in parameters.values())
    if not have_one_type:
        found = [_merged(found, parameters)]
    is_exact = have_one_type and _are_texts(schema)
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    return [{**one, **definitions} for one in found], is_exact


def _have_one_type(schemas: Sequence[Any], root: Any) -> bool:
    """Whether a parser reads a text as the same value with each of these schemas."""
    if len(schemas) == 1:
        return True
    types = {types_of(one, root) for one in schemas}
    return len(types) == 1 and len(one := types.pop()) == 1 and one[0] not in ("object", "array")


def _are_texts(schema: Mapping[str, Any]) -> bool:
    """Whether all values in listed objects are texts; a parser derives no types from listed objects."""
    return all(
        isinstance(member, str)
        for part in alternatives(schema, schema)
        for value in part.get("enum", ())
        for member in value.values()
    )


def _objects(part: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the schema itself, or a schema for each object that it lists."""
    if "enum" not in part:
        yield part
    for value in part.get("enum", ()):
        properties = {key: {"enum": [member]} for key, member in value.items()}
        yield {
            "type": "object",
            "properties": properties,
            "required": list(value),
            "additionalProperties": False,
        }


def _merged(found: Sequence[Mapping[str, Any]], parameters: Mapping[str, list[Any]]) -> dict[str, Any]:
    required = set(parameters).intersection(*(one.get("required", ()) for one in found))
    return {
        "type": "object",
        "properties": {
            key: schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
            for key, schemas in parameters.items()
        },
        "required": [key for key in parameters if key in required],
        "additionalProperties": False,
    }
