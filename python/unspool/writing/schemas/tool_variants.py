"""The object schemas of a tool's arguments, for formats that write each parameter separately.

Most tools have one object schema. A schema that is a union, or a list of values, has several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unspool.core.schema.schema import Definitions, Nothing, ObjectOf, OneOf, Schema
from unspool.writing.schemas.schema_types import alternatives, types_of

__all__ = ["object_variants"]


def object_variants(schema: Schema, definitions: Definitions) -> tuple[list[ObjectOf], bool]:
    """Return the object schemas of a schema, and whether arguments that fit one of them fit the schema.

    A parser derives the type of a parameter from its name alone. So if a name has different types in two objects, one
    object replaces all of them: it requires the keys that every object requires, and allows any of the schemas of each
    name.
    """
    variants = [variant for variant in alternatives(schema, definitions) if isinstance(variant, ObjectOf)]
    if len(variants) == 1:
        return variants, True
    known: dict[str, dict[Schema, None]] = {}
    for variant in variants:
        for key, value in variant.members:
            known.setdefault(key, {})[value] = None
    parameters = {key: tuple(schemas) for key, schemas in known.items()}
    have_one_type = all(_have_one_type(schemas, definitions) for schemas in parameters.values())
    return variants if have_one_type else [_merged(variants, parameters)], have_one_type


def _have_one_type(schemas: Sequence[Schema], definitions: Definitions) -> bool:
    """Whether a parser reads a text as the same value with each of these schemas."""
    if len(schemas) == 1:
        return True
    types = {types_of(one, definitions) for one in schemas}
    return len(types) == 1 and len(one := types.pop()) == 1 and one[0] not in ("object", "array")


def _merged(variants: Sequence[ObjectOf], parameters: Mapping[str, tuple[Schema, ...]]) -> ObjectOf:
    required = set(parameters).intersection(*(variant.required for variant in variants))
    return ObjectOf(
        members=tuple(
            (key, schemas[0] if len(schemas) == 1 else OneOf(schemas)) for key, schemas in parameters.items()
        ),
        required=tuple(key for key in parameters if key in required),
        others=Nothing("a parser types a parameter by its name alone"),
    )
