"""The tools of a request and the tool choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

from unspool.core.recent import Recent
from unspool.core.stream.custom_tools import custom_names, custom_syntax
from unspool.errors import ArgumentError
from unspool.serve.http.api_errors import ApiError
from unspool.serve.wires.wire import Ignored, Wire, kinds, unfit

__all__ = [
    "SHOWN",
    "ChatTool",
    "CustomPart",
    "FunctionTool",
    "ToolChoice",
    "Tools",
    "offered_in",
    "read_tools",
    "said_of",
    "unsupported_tool",
]


class FunctionTool(Wire, kw_only=True):
    """A function that the model may call."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


def unsupported_tool(*known: str) -> Meta:
    """Return the annotation of a tool whose type must be one of these, which the client runs; the first is the default.

    Tools of other types, which a vendor runs, are left out if there is a tool of a known type.
    """
    says = "'{path}' is a tool of type '{kind}', which this server does not have; use"
    message = f"{says} {' or '.join(map(repr, known))}"
    return kinds("unsupported_tool", message, known[0], left_out=r"[\w.-]{1,60}", needs_one=True)


class _ChatTool(Wire, tag_field="type", tag="function", kw_only=True):
    function: FunctionTool
    cache_control: Ignored = None


class CustomPart(Wire, kw_only=True):
    """A tool whose input is a text, possibly constrained by a grammar."""

    name: str
    description: str | None = None
    format: dict[str, Any] | None = None


class _ChatCustom(Wire, tag_field="type", tag="custom", kw_only=True):
    custom: CustomPart
    cache_control: Ignored = None


ChatTool = Annotated[_ChatTool | _ChatCustom, unsupported_tool("function", "custom")]

_CHOICES = '\'auto\', \'none\', \'required\' or {"type": "function", "function": {"name": ...}}'

ToolChoice = Annotated[Any, Meta(description=f"{_CHOICES}.")]


@dataclass(frozen=True, kw_only=True)
class Tools:
    """The tools that a request offers.

    Attributes:
        offered: The tools in the form of chat completions; None: there are none.
        choice: "auto", "none", "required", or a tool's name.
        is_parallel: Whether an answer may hold more than one call.
        namespaces: A tool's namespace and its name in it, by the name that the model sees.
    """

    offered: list[dict[str, Any]] | None = None
    choice: str = "auto"
    is_parallel: bool = True
    namespaces: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def must_call(self) -> bool:
        """Whether an answer without a call is an error."""
        return self.choice not in ("auto", "none")

    @property
    def shown(self) -> list[dict[str, Any]] | None:
        """The tools that the model may call, for the chat template."""
        if self.choice == "none":
            return None
        if self.choice in ("auto", "required") or self.offered is None:
            return self.offered
        return [tool for tool in self.offered if said_of(tool)["name"] == self.choice]

    @property
    def custom(self) -> list[str]:
        """The names of the custom tools, whose input is a text."""
        return sorted(custom_names(self.offered))


def said_of(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a tool that contains its name."""
    found: dict[str, Any] = tool[_key(tool)]
    return found


def _key(tool: Mapping[str, Any]) -> str:
    return "custom" if tool["type"] == "custom" else "function"


#: The fields of a tool that templates show.
SHOWN = frozenset({*FunctionTool.__struct_fields__, *CustomPart.__struct_fields__})


def offered_in(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a body's tools as the client wrote them, since templates keep the order of their fields."""
    tools = [{**tool, "type": tool.get("type") or "function"} for tool in data.get("tools") or ()]
    return [tool for tool in tools if tool["type"] in ("function", "custom")]


def read_tools(tools: list[dict[str, Any]], choice: Any = None, is_parallel: bool = True) -> Tools:
    """Check the tools and the tool choice of a request.

    Args:
        tools: The tools in the form of chat completions, each with its type and name, without fields that are null.
        choice: The choice in the form of chat completions; None: "auto".
        is_parallel: Whether an answer may hold more than one call.

    Raises:
        ApiError: 400, two tools have the same name, or the chosen tool is not offered; 422, the choice is invalid.
    """
    offered: dict[str, dict[str, Any]] = {}
    for index, tool in enumerate(tools):
        function = said_of(tool)
        path, name = f"tools[{index}]", function["name"]
        if not name:
            raise unfit(path, f"'{path}' has an empty name")
        if name in offered:
            message = f"'{path}' is named '{name}', as another tool is; give each a name of its own"
            raise ApiError(400, message, param=path)
        said = {key: value for key, value in function.items() if key in SHOWN and value is not None}
        offered[name] = {"type": tool["type"], _key(tool): said}
        try:
            custom_syntax(said)
        except ArgumentError as error:
            raise ApiError(400, f"'{path}': {error}", code="invalid_argument", param=path) from None
    chosen = _read_choice(choice)
    if not offered and chosen not in ("auto", "none"):
        raise _wrong_choice(f"tool_choice is '{chosen}', and there are no tools; send 'tools'")
    if chosen not in ("auto", "none", "required") and chosen not in offered:
        raise _wrong_choice(
            f"tool_choice names '{chosen}', which is not one of the tools: {', '.join(offered)}"
        )
    return Tools(offered=_shared(list(offered.values())) or None, choice=chosen, is_parallel=is_parallel)


#: An agent sends the same tools in each turn, and an answer keeps them until its end.
_recent = Recent(32)


def _shared(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same tools, kept in memory once for recent requests."""
    known: list[dict[str, Any]] | None = _recent.find((tools,))
    return _recent.make((tools,), lambda copy: copy) if known is None else known


def _read_choice(choice: Any) -> str:
    if choice is None:
        return "auto"
    if choice in ("auto", "none", "required"):
        return str(choice)
    if isinstance(choice, dict) and choice.get("type") in ("function", "custom"):
        inner = choice.get(choice["type"])
        name = inner.get("name") if isinstance(inner, dict) else choice.get("name")
        if name in ("auto", "none", "required"):
            raise _wrong_choice(
                f"tool_choice names the tool '{name}', which is a choice itself; rename the tool"
            )
        if isinstance(name, str) and name:
            return name
    raise unfit("tool_choice", f"'tool_choice' must be {_CHOICES}")


def _wrong_choice(message: str) -> ApiError:
    return ApiError(400, message, param="tool_choice")
