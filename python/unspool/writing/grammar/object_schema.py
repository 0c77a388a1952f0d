"""The schema of a call that is one JSON object with name, arguments and, in some formats, id."""

from __future__ import annotations

import json
from typing import Any

from unspool._core import ObjectShape
from unspool.writing.grammar.tools import Tool

__all__ = ["object_schema"]


def object_schema(tool: Tool, shape: ObjectShape) -> dict[str, Any]:
    """The schema of the whole object. The tool's schema is nested in it, so its references get longer
    paths."""
    definitions: dict[str, Any] = {}
    arguments = tool.schema
    if '"$ref"' in json.dumps(arguments):
        definitions = {"arguments": _moved(arguments, "#/$defs/arguments")}
        arguments = {"$ref": "#/$defs/arguments"}
    if shape.name_is_key:
        members: dict[str, Any] = {tool.name: arguments}
    else:
        id = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,40}$"}
        kinds = {"name": {"const": tool.name}, "arguments": arguments, "id": id}
        members = {key: kinds[kind] for key, kind in shape.keys}
    made = {
        "type": "object", "properties": members, "required": list(members), "additionalProperties": False,
    }  # fmt: skip
    return {**made, "$defs": definitions} if definitions else made


def _moved(schema: Any, root: str) -> Any:
    if isinstance(schema, dict):
        return {
            key: root + value.removeprefix("#")
            if key == "$ref" and isinstance(value, str)
            else _moved(value, root)
            for key, value in schema.items()
        }
    return [_moved(item, root) for item in schema] if isinstance(schema, list) else schema
