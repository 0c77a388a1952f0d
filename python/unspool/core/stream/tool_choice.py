"""Reads a request's `tool_choice`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool._core import ToolSchemas
from unspool.errors import ArgumentError

__all__ = ["check_offered", "grammar_choice", "read_tool_choice"]


def read_tool_choice(
    choice: str | Mapping[str, Any] | None, schemas: ToolSchemas | None
) -> tuple[str | None, bool, bool]:
    """Return the named tool, whether some tool is required, and whether tools are off.

    Raises:
        ArgumentError: The choice is neither a word of the API nor the name of a tool.
    """
    if choice is None or choice == "auto":
        return None, False, False
    if choice == "none":
        return None, False, True
    if choice in ("required", "any"):
        return None, True, False
    if isinstance(choice, Mapping):
        name = (choice.get("function") or choice.get("custom") or choice).get("name")
        if not isinstance(name, str):
            raise ArgumentError("tool_choice names no tool; write {'function': {'name': ...}}")
        choice = name
    check_offered(choice, schemas)
    return choice, False, False


def check_offered(tool: str | None, schemas: ToolSchemas | None) -> None:
    """Raise ArgumentError if a tool is named, the request's tools are known, and it is not one of them."""
    if tool is not None and schemas is not None and tool not in schemas:
        raise ArgumentError(
            f"tool_choice is '{tool}'; use 'auto', 'none', 'required' or the name of one of the tools"
        )


def grammar_choice(choice: str | Mapping[str, Any] | None) -> str:
    """Convert a request's `tool_choice` for `FormatFile.grammar`: a word or a tool's name.

    Raises:
        ArgumentError: As in `read_tool_choice`.
    """
    named, is_required, is_off = read_tool_choice(choice, None)
    return named or ("none" if is_off else "required" if is_required else "auto")
