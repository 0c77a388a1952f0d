"""The request's tools, as a grammar needs them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from unspool.errors import ArgumentError
from unspool.grammar.json_schema import Target, normalise_arguments
from unspool.grammar.result import Dropped
from unspool.grammar.schema_types import types_of
from unspool.schema import read_tool

__all__ = ["Tool", "chosen_tools"]


@dataclass(frozen=True)
class Tool:
    """One tool. Its schema is one of an object."""

    name: str
    schema: dict[str, Any]

    @property
    def properties(self) -> dict[str, Any]:
        """The parameters' schemas by name."""
        return dict(self.schema.get("properties") or {})

    @property
    def required(self) -> frozenset[str]:
        """The parameters that must be there."""
        return frozenset(self.schema.get("required", ()))


def chosen_tools(
    tools: Iterable[Any], tool_choice: str, strict: bool | None, target: Target, dropped: list[Dropped]
) -> list[Tool]:
    """The tools that may be called.

    Args:
        tool_choice: "auto" and "required": all; else the name of one.
        strict: Whether arguments follow the schema; None: unless a tool says `strict: false`.
        target: The matcher for which schemas are normalised; `dropped` gets what that leaves out.

    Raises:
        ArgumentError: There are none, or none is called `tool_choice`, or two have one name.
    """
    if isinstance(tools, (str, bytes, dict)):
        raise ArgumentError(f"tools is a {type(tools).__name__}; pass a list of tools")
    found = [_tool(index, tool, strict, target, dropped) for index, tool in enumerate(tools)]
    names = [tool.name for tool in found]
    if not names:
        raise ArgumentError("there are no tools; a grammar of calls needs one")
    if len(set(names)) < len(names):
        raise ArgumentError(f"two tools have one name; names are {names}")
    if tool_choice in ("auto", "required"):
        return found
    if tool_choice not in names:
        raise ArgumentError(
            f"tool_choice is '{tool_choice}'; use 'auto', 'required' or one of the tools: {', '.join(names)}"
        )
    return [tool for tool in found if tool.name == tool_choice]


def _tool(index: int, tool: Any, strict: bool | None, target: Target, dropped: list[Dropped]) -> Tool:
    data = tool.model_dump() if hasattr(tool, "model_dump") else tool
    name, text = read_tool(index, data)
    function = data.get("function") or data
    is_strict = strict if strict is not None else function.get("strict", data.get("strict")) is not False
    schema = json.loads(text)
    if not is_strict or not schema:
        return Tool(name, {"type": "object"})
    if "object" not in types_of(schema, schema):
        raise ArgumentError(f"the parameters of '{name}' are no object; their schema must have type object")
    try:
        made = normalise_arguments(schema, target=target)
    except ArgumentError as error:
        raise ArgumentError(f"the parameters of '{name}': {error}") from None
    dropped += [Dropped(name + one.path, one.keyword, one.reason) for one in made.dropped]
    return Tool(name, made.schema)
