"""Tools of type "custom", whose input is a text: it is the only parameter, `input`, of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.errors import ArgumentError

__all__ = ["CUSTOM_SCHEMA", "as_function", "as_function_call", "custom_names", "custom_part", "custom_syntax"]

#: The parameters of a custom tool, as parsers, renderings and grammars see them.
CUSTOM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}


def custom_part(tool: Any) -> Mapping[str, Any] | None:
    """Return the part of a custom tool that has its name, description and format; None: the tool is a function.

    The tool has the shape of chat completions or of Responses. Anthropic's custom tools have a schema, so they count as
    functions.
    """
    if not isinstance(tool, Mapping) or tool.get("type") != "custom" or "input_schema" in tool:
        return None
    part = tool.get("custom")
    return part if isinstance(part, Mapping) else tool


def custom_syntax(part: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the syntax that a custom tool's input must match, "lark" or "regex", and its definition; None: any text.

    Raises:
        ArgumentError: The format has another type or syntax, or no definition.
    """
    format = part.get("format")
    if format is None or (isinstance(format, Mapping) and format.get("type") == "text"):
        return None
    inner = format.get("grammar", format) if isinstance(format, Mapping) else None
    if not isinstance(inner, Mapping) or format.get("type") != "grammar":
        raise ArgumentError(f"the format of '{part.get('name')}' has no type 'text' or 'grammar'")
    syntax, definition = inner.get("syntax"), inner.get("definition")
    if syntax not in ("lark", "regex") or not isinstance(definition, str):
        raise ArgumentError(
            f"the format of '{part.get('name')}' needs a syntax, 'lark' or 'regex', and a definition"
        )
    return syntax, definition


def custom_names(tools: Any) -> frozenset[str]:
    """Return the names of the custom tools among these tools."""
    parts = [custom_part(tool) for tool in tools or ()]
    return frozenset(str(part["name"]) for part in parts if part is not None)


def as_function_call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert a call of a custom tool to a function call with the argument `input`; return other calls unchanged."""
    part = call.get("custom")
    if not isinstance(part, Mapping):
        return call
    rest = {name: value for name, value in call.items() if name not in ("custom", "type")}
    return {**rest, "function": {"name": part.get("name"), "arguments": {"input": part.get("input") or ""}}}


def as_function(tool: Any) -> Any:
    """Convert a custom tool to a function, for chat templates; return other tools unchanged."""
    part = custom_part(tool)
    if part is None:
        return tool
    said = str(part.get("description") or "")
    if (syntax := custom_syntax(part)) is not None:
        title = "Lark grammar" if syntax[0] == "lark" else "regular expression"
        said = f"{said}\n\nThe input matches this {title}:\n{syntax[1]}".strip()
    return {
        "type": "function",
        "function": {"name": part["name"], "description": said, "parameters": CUSTOM_SCHEMA},
    }
