"""Writes a schema as JSON Schema, with few keywords."""

from __future__ import annotations

from typing import Any

from unspool.core.schema.schema import (
    Anything,
    Bound,
    Listed,
    ListOf,
    Named,
    Nothing,
    Number,
    ObjectOf,
    OneOf,
    Schema,
    Text,
)

__all__ = ["schema_json"]


def schema_json(schema: Schema) -> Any:
    """Return a schema as plain data for `json.dumps`; names lead to "#/$defs"."""
    match schema:
        case Anything():
            return {}
        case Nothing():
            return False
        case Named(name):
            return {"$ref": f"#/$defs/{name}"}
        case OneOf(options):
            return {"anyOf": [schema_json(option) for option in options]}
        case Listed(values):
            return {"enum": list(values)}
    return {"type": schema.type, **_keywords(schema)}


def _keywords(schema: Schema) -> dict[str, Any]:
    match schema:
        case Text():
            return _present(
                pattern=schema.pattern,
                format=schema.format,
                minLength=schema.shortest or None,
                maxLength=schema.longest,
            )
        case Number():
            bounds = {**_bound("Minimum", schema.lowest), **_bound("Maximum", schema.highest)}
            return {**bounds, **_present(multipleOf=schema.step)}
        case ListOf():
            return _present(
                prefixItems=[schema_json(item) for item in schema.first] or None,
                items=schema_json(schema.others) if schema.has_others else None,
                minItems=schema.shortest or None,
                maxItems=schema.longest,
            )
        case ObjectOf():
            return _object(schema)
    return {}


def _object(schema: ObjectOf) -> dict[str, Any]:
    others = schema_json(schema.others)
    is_map = not schema.members and not (schema.is_closed and schema.pattern is None)
    return _present(
        properties=None if is_map else {key: schema_json(value) for key, value in schema.members},
        required=list(schema.required) or None,
        patternProperties=None if schema.pattern is None else {schema.pattern: others},
        additionalProperties=others if schema.pattern is None else False,
        minProperties=schema.fewest or None,
        maxProperties=schema.most,
    )


def _present(**keywords: Any) -> dict[str, Any]:
    return {keyword: said for keyword, said in keywords.items() if said is not None}


def _bound(side: str, bound: Bound | None) -> dict[str, Any]:
    if bound is None:
        return {}
    return {side.lower() if bound.belongs else f"exclusive{side}": bound.number}
