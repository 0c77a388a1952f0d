"""The tools that walks call, and texts that tempt a value to end early."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from unspool.formats.format_file import FormatFile

#: A tool of everything that a schema may say, and smaller ones.
TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "unit": {"type": "string", "enum": ["C", "F", "kelvin or so"]},
                "exact": {"type": "boolean"},
                "factor": {"type": ["number", "null"]},
            },
            "required": ["city", "unit"],
        },
    },
    {"name": "now", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}},
    {
        "name": "plan",
        "parameters": {
            "type": "object",
            "properties": {
                "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}, "maxItems": 2},
                "note": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "place": {
                    "type": "object",
                    "properties": {
                        "ä b": {"type": "string"},
                        "at": {"type": "array", "items": {"type": "number"}},
                    },
                    "required": ["at"],
                    "additionalProperties": False,
                },
            },
            "required": ["place"],
            "$defs": {
                "step": {
                    "type": "object",
                    "properties": {
                        "do": {"type": "string"},
                        "then": {"anyOf": [{"$ref": "#/$defs/step"}, {"type": "null"}]},
                    },
                    "required": ["do"],
                    "additionalProperties": False,
                }
            },
        },
    },
]
#: What every format can write: names that are Python names, and no objects in elements.
PLAIN_TOOLS = [TOOLS[0], TOOLS[1]]
ONE_PARAMETER = [
    {
        "name": "run",
        "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
    },
    TOOLS[1],
]


def tools_for(file: FormatFile) -> list[dict[str, Any]]:
    """The tools that a format's calls can name: one whose only parameter has no key takes no more."""
    is_keyless = any("${value}" in text and "${key}" not in text for text in file.patterns["call"])
    if is_keyless:
        return ONE_PARAMETER
    is_python = any("${key}=" in text for text in file.patterns["call"])
    return PLAIN_TOOLS if is_python else TOOLS


def fragments_of(file: FormatFile, tools: Sequence[dict[str, Any]]) -> list[bytes]:
    """What may tempt a value to end early: the format's markers, its patterns' texts, names."""
    texts = [*file.facts.markers]
    for key in ("turn", "reasoning", "content", "calls", "call", "parameter"):
        for pattern in file.patterns.get(key, ()):
            texts += re.split(r"\$\{[^}]*\}", pattern.replace("\\n", "\n"))
    for tool in tools:
        texts += [tool["name"], *tool["parameters"].get("properties", ())]
    texts += ["true", "null", "{}", "[]", "\\u00e9", "&lt;", "]]>", '"}', "')", "12", "\n\n", "```json\n{"]
    return sorted({text.encode() for text in texts if text})
