"""What a request's tools say of their parameters, reduced to what the parser needs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from unspool._core import ToolSchemas
from unspool.errors import ArgumentError
from unspool.json_schema import Value, read_parameters

__all__ = ["compile_tools"]


def compile_tools(tools: Iterable[Any] | ToolSchemas | None) -> ToolSchemas | None:
    """Compile tools as chat or Responses requests hold them; None stays None: not known.

    Raises:
        ArgumentError: A tool has no name, or is not a mapping (or an object with `model_dump`).
    """
    if tools is None or isinstance(tools, ToolSchemas):
        return tools
    if isinstance(tools, (str, bytes, Mapping)):
        raise ArgumentError(f"tools is a {type(tools).__name__}; pass a list of tools")
    return ToolSchemas(dict(_tool(index, tool) for index, tool in enumerate(tools)))


def _tool(index: int, tool: Any) -> tuple[str, dict[str, Value]]:
    data = tool.model_dump() if hasattr(tool, "model_dump") else tool
    if not isinstance(data, Mapping):
        raise ArgumentError(f"tools[{index}] is a {type(tool).__name__}; pass a dict")
    function = data.get("function") or data
    if not isinstance(function, Mapping):
        raise ArgumentError(f"tools[{index}]['function'] is a {type(function).__name__}; pass a dict")
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"tools[{index}] has no name; write {{'function': {{'name': ...}}}}")
    schema = function.get("parameters") or function.get("input_schema") or {}
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except ValueError as error:
            raise ArgumentError(f"the parameters of tools[{index}] ({name}) are no JSON: {error}") from None
    return name, read_parameters(schema)
