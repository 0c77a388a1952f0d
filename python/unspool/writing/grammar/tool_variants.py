"""The objects that a tool's arguments may be, where a format writes each parameter by itself.

Most tools have one. A schema that is a union, or a list of values, has several.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unspool.writing.grammar.schema_types import alternatives, types_of

__all__ = ["object_variants"]


def object_variants(schema: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], bool]:
    """The object schemas of a normalised schema, and whether each argument that fits one of them fits the schema.

    A parser types a parameter by its name alone. So if two objects give a name other types, there is one object in
    their place, with what each requires, and any of the schemas for each name.
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
    """Whether a parser takes a text for the same value under each of these schemas."""
    if len(schemas) == 1:
        return True
    types = {types_of(one, root) for one in schemas}
    return len(types) == 1 and len(one := types.pop()) == 1 and one[0] not in ("object", "array")


def _are_texts(schema: Mapping[str, Any]) -> bool:
    """Whether the values of listed objects are texts: a parser reads no types from them."""
    return all(
        isinstance(member, str)
        for part in alternatives(schema, schema)
        for value in part.get("enum", ())
        for member in value.values()
    )


def _objects(part: Any) -> Iterator[Mapping[str, Any]]:
    """The schema of objects, or one for each listed object."""
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
