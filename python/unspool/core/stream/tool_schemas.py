"""Reduces the parameters of a request's tools to the facts that the parser needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unspool._core import ToolSchemas
from unspool.core.recent import Recent
from unspool.core.stream.custom_tools import CUSTOM_SCHEMA, custom_part
from unspool.core.stream.tool import read_tools
from unspool.errors import ArgumentError

__all__ = ["compile_tools", "read_tool"]


def compile_tools(tools: Iterable[Any] | ToolSchemas | None) -> ToolSchemas | None:
    """Compile the tools of a chat or Responses request. None (unknown tools) is returned unchanged.

    The core reads the schemas (csrc/format/tool_schemas.h).

    Raises:
        ArgumentError: A tool has no name, or is not one of the sources that `tool` accepts.
    """
    if tools is None or isinstance(tools, ToolSchemas):
        return tools
    if isinstance(tools, (list, tuple)):
        known: ToolSchemas | None = _recent.find((tools,))
        return _recent.make((tools,), _compile) if known is None else known
    return _compile(tools)


#: A server's clients send the same tools with each request.
_recent = Recent(32)


def _compile(tools: Iterable[Any]) -> ToolSchemas:
    return ToolSchemas(dict(read_tool(index, tool) for index, tool in enumerate(read_tools(tools))))


def read_tool(index: int, tool: Mapping[str, Any]) -> tuple[str, str]:
    """Return a tool's name, and the schema of its parameters as JSON text."""
    part = custom_part(tool)
    function = tool.get("function") or tool if part is None else part
    if not isinstance(function, Mapping):
        raise ArgumentError(f"tools[{index}]['function'] is a {type(function).__name__}; pass a dict")
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"tools[{index}] has no name; write {{'function': {{'name': ...}}}}")
    if any("\ud800" <= char <= "\udfff" for char in name):
        raise ArgumentError(
            f"the name of tools[{index}] has a lone surrogate, which no output can hold; rename it"
        )
    if part is not None:
        return name, _to_json(CUSTOM_SCHEMA)
    schema = function.get("parameters") or {}
    try:
        return name, _to_json(schema)
    except ValueError as error:
        raise ArgumentError(
            f"the parameters of tools[{index}] ({name}) are not valid JSON: {error}"
        ) from None


_MAX_DEPTH = (
    200  # `json` reaches the interpreter's recursion limit beyond it; deeper values may have any type
)


def _to_json(schema: Any) -> str:
    import json  # not before: importing unspool stays light

    try:
        value = json.loads(schema) if isinstance(schema, str) else schema
    except RecursionError:
        return str(schema)  # the core reads it up to its own limit
    try:
        return json.dumps(value, allow_nan=False, default=_plain)
    except RecursionError:
        return json.dumps(_cut(value, _MAX_DEPTH), allow_nan=False, default=_plain)


def _cut(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {key: _cut(item, depth - 1) for key, item in value.items()} if depth else None
    if isinstance(value, (list, tuple)):
        return [_cut(item, depth - 1) for item in value] if depth else None
    return value


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else repr(value)
