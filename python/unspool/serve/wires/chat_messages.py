"""Messages of chat completions, and their conversion for chat templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from unspool.generation.prompts.history import prepare_messages
from unspool.serve.http.api_errors import ApiError
from unspool.serve.wires.content import Content, ToolOutput, text_of
from unspool.serve.wires.wire import Ignored, SentBack, Wire, refused, unfit

__all__ = ["ChatMessage", "call_of", "custom_call_of", "read_chat"]


class CalledFunction(SentBack, kw_only=True):
    """A called function. SDKs send it back with further fields of the answer, such as `parsed_arguments`."""

    name: str
    arguments: str | None = None


class CalledCustom(SentBack, kw_only=True):
    """The call of a custom tool."""

    name: str
    input: str = ""


class ToolCall(SentBack, kw_only=True):
    """A call from an earlier answer."""

    id: str
    type: Annotated[Any, refused("function", "custom", why="calls are to functions and custom tools")] = (
        "function"
    )
    function: CalledFunction | None = None
    custom: CalledCustom | None = None


class Message(Wire, tag_field="role", kw_only=True):
    name: str | None = None


class SystemMessage(Message, tag="system", kw_only=True):
    content: Content


class DeveloperMessage(SystemMessage, tag="developer", kw_only=True):
    """Instructions, under their newer name."""


class UserMessage(SystemMessage, tag="user", kw_only=True):
    """A user's turn."""


class ToolMessage(Message, tag="tool", kw_only=True):
    content: ToolOutput
    tool_call_id: str


class AssistantMessage(Message, tag="assistant", kw_only=True):
    content: Content | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[ToolCall] | None = None
    refusal: str | None = None
    audio: Annotated[Any, refused(why="audio is not supported")] = None
    function_call: Annotated[Any, refused(why="tool_calls have replaced it")] = None
    annotations: Ignored = None


ChatMessage = SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolMessage


def read_chat(messages: Sequence[Message], path: str = "messages") -> list[dict[str, Any]]:
    """Convert messages to the form that chat templates read: contents as text, arguments as objects.

    Raises:
        ApiError: 400, there are no messages.
    """
    if not messages:
        raise ApiError(400, f"'{path}' is empty; send at least one message", param=path)
    return prepare_messages(map(_read, messages))


def _read(message: Any) -> dict[str, Any]:
    role = type(message).__struct_config__.tag
    read: dict[str, Any] = {"role": "system" if role == "developer" else role}
    if message.name is not None:
        read["name"] = message.name
    content = message.content
    if isinstance(message, AssistantMessage):
        if reasoning := message.reasoning_content or message.reasoning:
            read["reasoning_content"] = reasoning
        if message.tool_calls:
            read["tool_calls"] = list(map(_call, message.tool_calls))
        content = message.refusal if content is None else content
    elif isinstance(message, ToolMessage):
        read["tool_call_id"] = message.tool_call_id
    read["content"] = text_of(content)
    return read


def _call(call: ToolCall) -> dict[str, Any]:
    if call.custom is not None:
        return custom_call_of(call.id, call.custom.name, call.custom.input)
    if call.function is None:
        raise unfit("messages", f"the call '{call.id}' has neither 'function' nor 'custom'")
    return call_of(call.id, call.function.name, call.function.arguments)


def custom_call_of(id: str, name: str, input: str) -> dict[str, Any]:
    """Return a custom tool's call in a chat message's form."""
    return {"id": id, "type": "custom", "custom": {"name": name, "input": input}}


def call_of(id: str, name: str, arguments: str | None) -> dict[str, Any]:
    """Return a function's call in a chat message's form."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
