"""The JSON Schema of format files, for editors: `unspool check --schema`."""

from __future__ import annotations

import json
from typing import Any

from unspool._core import format_words

__all__ = ["format_schema"]

_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}
_TEXT_OR_LIST: dict[str, Any] = {"anyOf": [_TEXT, {**_TEXTS, "minItems": 1, "maxItems": 1000}]}
_TYPES: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "texts": _TEXTS,
    "alternatives": {"type": "array", "items": {"anyOf": [_TEXT, {**_TEXTS, "minItems": 1}]}},
    "literals": _TEXT_OR_LIST,
    "patterns": _TEXT_OR_LIST,
    "flag": {"type": "boolean"},
    "list": {"type": "array"},
}


def format_schema() -> dict[str, Any]:
    """Build the schema from the reader's own table of words."""
    words = json.loads(format_words())
    types = {
        **_TYPES,
        "detect": _table(words["detect"], _TYPES),
        "examples": {"type": "array", "items": _table(words["example"], _TYPES)},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "unspool: what a model writes, with holes",
        **_table(words["keys"], types),
        "required": ["name"],
    }


def _table(words: list[dict[str, Any]], types: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            word["name"]: {**types[word["type"]], "description": _meaning(word)} for word in words
        },
    }


def _meaning(word: dict[str, Any]) -> str:
    holes = ", ".join(f"${{{hole}}}" for hole in word["holes"])
    return f"{word['meaning']} Holes: {holes}." if holes else str(word["meaning"])
