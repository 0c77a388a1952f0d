"""Removes the user's text from a request, and keeps what a parser needs."""

from __future__ import annotations

import re
from typing import Any

from unspool.core.schema.keywords import ANNOTATIONS, MAPS

__all__ = ["redact"]

# Keys whose values hold names and schemas, which decide how an output is parsed.
_DECLARED = {
    "tools", "functions", "function_declarations", "functionDeclarations", "tool_choice", "tool_config", "toolConfig",
    "response_format", "format", "parameters", "json_schema", "guided_json", "responseSchema",
    "responseJsonSchema", "response_schema", "response_json_schema", "structured_outputs", "output_config",
}  # fmt: skip
# Prose inside these values, which is removed.
_PROSE = {*ANNOTATIONS, "example"}
# Keys whose values are words of the API; they are kept if they have the form of a word.
_WORDS = {
    "model", "role", "type", "effort", "reasoning_effort", "verbosity", "detail", "status", "tool_parser",
    "reasoning_parser", "incomplete_calls", "stop_in", "truncation", "service_tier",
}  # fmt: skip
_WORD = re.compile(r"[\w./:-]{1,100}", re.ASCII)
# Objects whose keys may also come from the user.
_OPAQUE = {
    "metadata",
    "client_metadata",
    "arguments",
    "args",
    "input",
    "output",
    "response",
    "result",
    "logit_bias",
}


def redact(value: Any, key: str = "") -> Any:
    """Return a copy of JSON in which the user's texts, lists of numbers and the user's objects are only their sizes.

    Names and schemas of tools and of a response format are kept, without descriptions, examples and defaults.
    """
    if key in _DECLARED and not isinstance(value, str):
        return _declared(value)
    if isinstance(value, str):
        return value if key in _WORDS and _WORD.fullmatch(value) else f"[{len(value)} characters]"
    if isinstance(value, dict):
        if key in _OPAQUE:
            return f"[{len(value)} keys]"
        return {_key(name): redact(item, name) for name, item in value.items()}
    if isinstance(value, list):
        if len(value) > 1 and all(isinstance(item, (int, float)) for item in value):
            return f"[{len(value)} numbers]"
        return [redact(item, key) for item in value]
    return value


def _declared(value: Any, is_named: bool = False) -> Any:
    """Redact names and schemas.

    Args:
        is_named: Whether the keys are names of parameters, one of which may be `description`.
    """
    if isinstance(value, dict):
        return {
            name: _declared(item, not is_named and name in MAPS)
            for name, item in value.items()
            if is_named or name not in _PROSE
        }
    return [_declared(item) for item in value] if isinstance(value, list) else value


def _key(name: str) -> str:
    return name if _WORD.fullmatch(name) else f"[{len(name)} characters]"
