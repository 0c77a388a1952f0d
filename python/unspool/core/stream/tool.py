"""Converts tools of any supported kind to the shape of chat completions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from unspool.core.stream.custom_tools import custom_part
from unspool.errors import ArgumentError

__all__ = ["read_tools", "tool", "tool_name"]


def tool(
    source: Callable[..., Any] | type | Mapping[str, Any] | Any,
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool | None = None,
) -> dict[str, Any]:
    """Return a tool in the shape of chat completions, so that you can inspect or change it.

    Every function that accepts `tools` also accepts these sources directly.

    Args:
        source: A function, whose signature and docstring (Google's style) are read as in transformers; a pydantic
            model, dataclass, msgspec struct or TypedDict, whose fields are the parameters; or a dict (or an object
            with `model_dump`) in the shape of chat completions, Responses, Anthropic's Messages or MCP (`inputSchema`).
        name, description: Replace those of the source.
        strict: Whether calls must fit the schema.

    Raises:
        ArgumentError: The source has no name, or has a type without a JSON Schema.
        UnspoolError: A dataclass, struct or TypedDict needs msgspec, which is missing.
    """
    mapping = _as_mapping(source, f"{source!r:.200}", name)
    if custom_part(mapping) is not None:
        raise ArgumentError("a custom tool has a text and no parameters; pass the dict itself as a tool")
    function = mapping.get("function")
    if not isinstance(function, Mapping):
        function = mapping = _as_function(mapping)["function"]
    replacements = {"name": name, "description": description, "strict": strict}
    function = {**function, **{key: value for key, value in replacements.items() if value is not None}}
    if not isinstance(function.get("name"), str) or not function["name"]:
        raise ArgumentError(f"the tool {source!r:.200} has no name; pass name=")
    function.setdefault("parameters", {"type": "object", "properties": {}})
    return {"type": "function", "function": function}


def read_tools(tools: Iterable[Any]) -> list[Mapping[str, Any]]:
    """Return the tools of a request as mappings; functions, classes and tools of MCP or Anthropic are converted.

    Raises:
        ArgumentError: `tools` is not a list, or `tool` raises it for one of them.
    """
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Iterable):
        raise ArgumentError(f"tools is a {type(tools).__name__}; pass a list of tools")
    return [_as_mapping(tool, f"tools[{index}]") for index, tool in enumerate(tools)]


def tool_name(function: Any) -> str | None:
    """Return the name of a function or class; None if it has no name that a model could write."""
    found = getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", None)
    return found if isinstance(found, str) and found.isidentifier() else None


def _as_mapping(source: Any, place: str, name: str | None = None) -> Mapping[str, Any]:
    if isinstance(source, Mapping):
        return _as_function(source) if "inputSchema" in source or "input_schema" in source else source
    if not isinstance(source, type) and hasattr(source, "model_dump"):
        return _as_mapping(source.model_dump(), place)
    if not callable(source):
        raise ArgumentError(
            f"{place} is a {type(source).__name__}; pass a function, a pydantic model or a dict"
        )
    from unspool.core.schema.function_schema import class_schema, function_schema

    name = name or tool_name(source)
    if name is None:
        raise ArgumentError(f"{place} has no name; make it by tool(function, name=...)")
    if isinstance(source, type):
        schema = class_schema(source)
        said = schema.pop("description", "")
    else:
        said, schema = function_schema(source)
    function = {"name": name, **({"description": said} if said else {}), "parameters": schema}
    return {"type": "function", "function": function}


#: The fields in which the protocols have the schema.
_SCHEMAS = ("inputSchema", "input_schema", "parameters")


def _as_function(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a tool of Responses, Anthropic or MCP to the shape of chat completions."""
    kept = {key: flat[key] for key in ("name", "description", "strict") if flat.get(key) is not None}
    schema = next((flat[key] for key in _SCHEMAS if flat.get(key)), None)
    return {"type": "function", "function": kept | ({} if schema is None else {"parameters": schema})}
