"""Reads the schemas of Google's API, which are a dialect of OpenAPI's."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["from_google", "listed_values"]


def from_google(schema: Any) -> Any:
    """Convert a schema to JSON Schema.

    Google's types are in capitals, its keywords may be in snake_case, and its integers may be strings.
    """
    if isinstance(schema, list):
        return [from_google(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    converted: dict[str, Any] = {}
    for key, value in schema.items():
        name = _camel(key)
        if name == "type" and isinstance(value, str):
            converted[name] = value.lower()
        elif name in ("properties", "$defs", "defs") and isinstance(value, dict):
            converted[name] = {key: from_google(item) for key, item in value.items()}
        elif name in ("items", "prefixItems", "anyOf", "additionalProperties"):
            converted[name] = from_google(value)
        elif isinstance(value, str) and re.fullmatch("m(in|ax)(Items|Length|Properties)", name):
            converted[name] = int(value) if value.isdecimal() else value
        elif name not in ("nullable", "propertyOrdering", "example"):
            converted[name] = value
    if converted.get("type") == "type_unspecified":
        del converted["type"]
    if schema.get("nullable") and "type" in converted:
        converted["type"] = [converted["type"], "null"]
        if isinstance(converted.get("enum"), list):
            converted["enum"] = [*converted["enum"], None]
    return converted


def _camel(key: str) -> str:
    return re.sub("_([a-z])", lambda letter: letter[1].upper(), key)


def listed_values(schema: Any) -> Any:
    """The values that a schema lists, as the client wrote them; None: it lists none."""
    return schema.get("enum") if isinstance(schema, dict) else None
