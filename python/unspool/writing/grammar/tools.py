"""The request's tools, prepared for a grammar."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unspool.core.schema.schema import Definitions, Nothing, ObjectOf, Schema, Text
from unspool.core.schema.source import Source
from unspool.core.stream.custom_tools import as_function, custom_part, custom_syntax
from unspool.core.stream.tool import read_tools
from unspool.core.stream.tool_schemas import read_tool
from unspool.errors import ArgumentError
from unspool.writing.grammar.response import Response
from unspool.writing.grammar_result import Dropped, Syntax
from unspool.writing.schemas.json_schema import normalise_arguments
from unspool.writing.schemas.tool_variants import object_variants

__all__ = ["Tool", "chosen_tools", "custom_text", "is_strict", "without_strict"]


#: Maximum number of members in the schemas of all tools together.
MAX_TOOL_MEMBERS = 5_000
#: The arguments of a custom tool.
_CUSTOM = ObjectOf((("input", Text()),), ("input",), others=Nothing())


@dataclass(frozen=True)
class Tool:
    """One tool, whose schema is an object schema."""

    name: str
    schema: Schema
    definitions: Definitions = field(default_factory=dict)
    member_count: int = 0
    """See `NormalisedSchema`."""
    text: Response | None = None
    """The constraint on the `input` of a custom tool; None: any text, or the tool is a function."""

    @functools.cached_property
    def properties(self) -> dict[str, Schema]:
        """The parameters' schemas by name."""
        return {key: value for one in self._variants[0] for key, value in one.members}

    @functools.cached_property
    def required(self) -> frozenset[str]:
        """The parameters that every call has."""
        return frozenset(self.properties).intersection(*(one.required for one in self._variants[0]))

    def variants(self, dropped: list[Dropped]) -> list[ObjectOf]:
        """The object schemas of the tool. A note is added to `dropped` if they allow more than its schema."""
        found, is_exact = self._variants
        if not is_exact:
            why = "the format writes each parameter by itself, and a parser types it by its name alone"
            dropped.append(Dropped(f"{self.name}#", "anyOf", why))
        return found

    @functools.cached_property
    def _variants(self) -> tuple[list[ObjectOf], bool]:
        return object_variants(self.schema, self.definitions)


def chosen_tools(
    tools: Iterable[Any], tool_choice: str, strict: bool | None, syntax: Syntax, dropped: list[Dropped]
) -> list[Tool]:
    """Return the tools that may be called.

    Args:
        tool_choice: "auto" and "required": all tools; otherwise the name of one.
        strict: Whether arguments follow the schema; None: yes, unless a tool has `strict: false`.
        syntax: The syntax of the grammar.
        dropped: A list to which the keywords that the grammar does not enforce are added.

    Raises:
        ArgumentError: There are no tools, no tool has the name `tool_choice`, two tools have the same name, or the
            tools are too large.
    """
    offered = [_tool(index, tool, strict, syntax, dropped) for index, tool in enumerate(read_tools(tools))]
    names = [tool.name for tool in offered]
    if not names:
        raise ArgumentError("there are no tools; a grammar of calls needs one")
    if len(set(names)) < len(names):
        raise ArgumentError(f"two tools have one name; names are {names}")
    if sum(tool.member_count for tool in offered) > MAX_TOOL_MEMBERS:
        raise ArgumentError(
            f"the tools' schemas have more than {MAX_TOOL_MEMBERS:,} properties, listed values and alternatives together; "
            "offer fewer tools, or make some not strict"
        )
    if tool_choice in ("auto", "required"):
        return offered
    if tool_choice not in names:
        raise ArgumentError(
            f"tool_choice is '{tool_choice}'; use 'auto', 'required' or one of the tools: {', '.join(names)}"
        )
    return [tool for tool in offered if tool.name == tool_choice]


def is_strict(tool: Mapping[str, Any]) -> bool:
    """Whether a tool in a request has `strict: true`, or is a custom tool with a constraint on its text."""
    return custom_text(tool) is not None or (custom_part(tool) is None and _strict(tool) is True)


def custom_text(tool: Any) -> Response | None:
    """Return the constraint on the text of a custom tool; None: any text, or the tool is a function."""
    part = custom_part(tool)
    found = None if part is None else custom_syntax(part)
    if found is None:
        return None
    syntax, definition = found
    return Response(grammar=definition, syntax="lark") if syntax == "lark" else Response(regex=definition)


def without_strict(tools: Iterable[Any] | None) -> list[Any] | None:
    """Return the tools as the model sees them: as functions, and without `strict`, which is meant for the engine."""
    return None if tools is None else [_without_strict(as_function(tool)) for tool in read_tools(tools)]


def _without_strict(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = tool.get("function")
    rest = {key: value for key, value in tool.items() if key != "strict"}
    return {**rest, "function": _without_strict(function)} if isinstance(function, Mapping) else rest


def _strict(data: Any) -> Any:
    function = data.get("function") or data
    return function.get("strict", data.get("strict"))


def _tool(
    index: int, tool: Mapping[str, Any], strict: bool | None, syntax: Syntax, dropped: list[Dropped]
) -> Tool:
    name, text = read_tool(index, tool)
    asked = custom_text(tool)
    if asked is not None:
        return Tool(name, _CUSTOM, member_count=1, text=asked)
    follows = strict if strict is not None else _strict(tool) is not False
    schema = json.loads(text)
    if not follows or not schema:
        return Tool(name, ObjectOf())
    if Source(schema, "#").excludes_objects:
        raise ArgumentError(
            f"the parameters of '{name}' are not an object; their schema must have type object"
        )
    try:
        normalised = normalise_arguments(schema, syntax=syntax)
    except ArgumentError as error:
        raise ArgumentError(f"the parameters of '{name}': {error}") from None
    dropped += [Dropped(name + note.path, note.keyword, note.reason) for note in normalised.dropped]
    return Tool(name, normalised.schema, normalised.definitions, normalised.member_count)
