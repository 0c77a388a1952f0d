"""Tools with the parameters of public MCP servers: what agents offer to models."""

from __future__ import annotations

from typing import Any

__all__ = ["MCP_TOOLS"]

_TEXT: dict[str, Any] = {"type": "string"}
_RICH_TEXT = {"type": "array", "items": {"$ref": "#/$defs/RichTextItem"}, "maxItems": 100}


def _tool(
    name: str, required: list[str], definitions: dict[str, Any] | None = None, **properties: Any
) -> dict[str, Any]:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": properties,
        "required": required, "additionalProperties": False,
    }  # fmt: skip
    return {"name": name, "parameters": {**schema, "$defs": definitions} if definitions else schema}


MCP_TOOLS = [
    # filesystem
    _tool("read_text_file", ["path"], path=_TEXT, tail={"type": "number"}, head={"type": "number"}),
    _tool("read_multiple_files", ["paths"], paths={"type": "array", "items": _TEXT, "minItems": 1}),
    _tool(
        "edit_file", ["path", "edits"], path=_TEXT, dryRun={"type": "boolean", "default": False},
        edits={
            "type": "array",
            "items": {
                "type": "object", "properties": {"oldText": _TEXT, "newText": _TEXT},
                "required": ["oldText", "newText"], "additionalProperties": False,
            },
        },
    ),
    _tool("list_directory_with_sizes", ["path"], path=_TEXT, sortBy={"type": "string", "enum": ["name", "size"]}),
    _tool("list_allowed_directories", []),
    # sequential-thinking
    _tool(
        "sequentialthinking", ["thought", "nextThoughtNeeded", "thoughtNumber", "totalThoughts"], thought=_TEXT,
        nextThoughtNeeded={"type": "boolean"}, thoughtNumber={"type": "integer", "minimum": 1},
        totalThoughts={"type": "integer", "minimum": 1}, isRevision={"type": "boolean"}, branchId=_TEXT,
    ),
    # fetch
    _tool(
        "fetch", ["url"], url={"type": "string", "format": "uri", "minLength": 1},
        max_length={"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 1000000, "default": 5000},
        start_index={"type": "integer", "minimum": 0}, raw={"type": "boolean"},
    ),
    # git: optional values of Pydantic models
    _tool(
        "git_log", ["repo_path"], repo_path=_TEXT, max_count={"type": "integer", "default": 10},
        start_timestamp={"anyOf": [_TEXT, {"type": "null"}], "default": None},
    ),
    # memory
    _tool(
        "create_entities", ["entities"],
        entities={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": _TEXT, "entityType": _TEXT, "observations": {"type": "array", "items": _TEXT}},
                "required": ["name", "entityType", "observations"],
            },
        },
    ),
    # notion: definitions with names of classes, a union, a recursion
    _tool(
        "API-patch-block-children", ["block_id", "children"],
        {
            "RichTextItem": {
                "type": "object",
                "properties": {"type": {"enum": ["text"]}, "text": {"$ref": "#/$defs/TextContent"}},
                "required": ["text"],
            },
            "TextContent": {
                "type": "object", "required": ["content"],
                "properties": {"content": {"type": "string", "maxLength": 2000}, "link": {"type": ["object", "null"]}},
            },
            "Block": {"oneOf": [{"$ref": "#/$defs/ParagraphBlock"}, {"$ref": "#/$defs/BulletedListItemBlock"}]},
            "ParagraphBlock": {
                "type": "object", "required": ["paragraph"], "additionalProperties": False,
                "properties": {"paragraph": {"type": "object", "properties": {"rich_text": _RICH_TEXT}}},
            },
            "BulletedListItemBlock": {
                "type": "object", "required": ["bulleted_list_item"], "additionalProperties": False,
                "properties": {
                    "bulleted_list_item": {
                        "type": "object", "required": ["rich_text"],
                        "properties": {"rich_text": _RICH_TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/Block"}}},
                    }
                },
            },
        },
        block_id=_TEXT, children={"type": "array", "items": {"$ref": "#/$defs/Block"}}, after=_TEXT,
    ),
    # playwright
    _tool(
        "browser_click", ["element", "ref"], element=_TEXT, ref=_TEXT, doubleClick={"type": "boolean"},
        button={"type": "string", "enum": ["left", "right", "middle"]},
        modifiers={"type": "array", "items": {"type": "string", "enum": ["Alt", "Control", "ControlOrMeta", "Meta", "Shift"]}},
    ),
    # time
    _tool("convert_time", ["source_timezone", "time", "target_timezone"], source_timezone=_TEXT, time=_TEXT, target_timezone=_TEXT),
]  # fmt: skip
