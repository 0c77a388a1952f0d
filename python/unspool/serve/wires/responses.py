"""POST /v1/responses: OpenAI's Responses, as a chat."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from unspool.generation.prompts.history import prepare_messages
from unspool.serve.http.api_errors import ApiError
from unspool.serve.http.ignored import ignore
from unspool.serve.wires.chat_messages import call_of, custom_call_of
from unspool.serve.wires.content import Content, ToolOutput, text_of, thought_of
from unspool.serve.wires.generation_request import GenerationRequest
from unspool.serve.wires.response_format import FlatFormat
from unspool.serve.wires.shared_fields import (
    ChatFields,
    Count,
    ReasoningFields,
    Stop,
    TopLogprobs,
    logprob_count,
)
from unspool.serve.wires.tools import (
    SHOWN,
    CustomPart,
    FunctionTool,
    ToolChoice,
    Tools,
    read_tools,
    unsupported_tool,
)
from unspool.serve.wires.wire import Ignored, Wire, kinds, refused, take, unfit, wish

__all__ = ["ResponseRequest", "read_response_request"]


class Item(Wire, tag_field="type", kw_only=True):
    id: Ignored = None
    status: Ignored = None
    phase: Ignored = None
    namespace: str | None = None
    caller: Ignored = None


class MessageItem(Item, tag="message", kw_only=True):
    role: Literal["user", "assistant", "system", "developer"]
    content: Content


class ReasoningText(Wire, kw_only=True):
    type: Ignored = None
    text: str


class ReasoningItem(Item, tag="reasoning", kw_only=True):
    content: list[ReasoningText] | None = None
    summary: list[ReasoningText] | None = None
    encrypted_content: str | None = None


class CallItem(Item, tag="function_call", kw_only=True):
    call_id: str
    name: str
    arguments: str | None = None


class OutputItem(Item, tag="function_call_output", kw_only=True):
    call_id: str
    output: ToolOutput


class CustomCallItem(Item, tag="custom_tool_call", kw_only=True):
    call_id: str
    name: str
    input: str


class CustomOutputItem(Item, tag="custom_tool_call_output", kw_only=True):
    call_id: str
    output: ToolOutput


InputItem = MessageItem | ReasoningItem | CallItem | OutputItem | CustomCallItem | CustomOutputItem

_Accepted = kinds(
    "unsupported_content",
    "'{path}' is of type '{kind}'; this server accepts messages, calls, their results and reasoning",
    "message",
    # Calls that a vendor ran itself, and their results.
    left_out=r"\w{1,40}_(call|output)|compaction|mcp_\w{1,40}|agent_message|additional_tools",
)


class ResponseTool(Wire, tag_field="type", tag="function", kw_only=True):
    """A function that the model may call; some clients nest its fields, as chat completions do."""

    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    defer_loading: Ignored = None
    function: FunctionTool | None = None


class ResponseCustom(CustomPart, tag_field="type", tag="custom", kw_only=True):
    """A custom tool, whose input is a text."""

    defer_loading: Ignored = None


class Namespace(Wire, tag_field="type", tag="namespace", kw_only=True):
    """The tools of a namespace; a call names the namespace and the tool."""

    name: str
    description: str | None = None
    tools: list[Annotated[ResponseTool | ResponseCustom, unsupported_tool("function", "custom")]]


class TextOptions(Wire, kw_only=True):
    format: FlatFormat | None = None
    verbosity: Annotated[Any, wish("medium", why="the model has no such switch")] = None


class EventOptions(Wire, kw_only=True):
    include_obfuscation: Ignored = None


_NOT_KEPT = "no conversation is kept here, and nothing runs behind a request; send all items in 'input'"


class ResponseRequest(ChatFields, kw_only=True):
    """A body of Responses."""

    input: str | list[Annotated[InputItem, _Accepted]]
    instructions: str | None = None
    tools: (
        list[Annotated[ResponseTool | ResponseCustom | Namespace, unsupported_tool("function", "custom")]]
        | None
    ) = None
    tool_choice: ToolChoice = None
    parallel_tool_calls: bool = True
    max_output_tokens: Count | None = None
    stop: Stop | None = None
    stream_options: EventOptions | None = None
    include: list[Any] | None = None
    top_logprobs: TopLogprobs | None = None
    reasoning: ReasoningFields | None = None
    text: TextOptions | None = None
    previous_response_id: str | None = None
    conversation: Annotated[Any, refused(why=_NOT_KEPT)] = None
    background: Annotated[Any, refused(False, why=_NOT_KEPT)] = None
    truncation: Annotated[Any, wish("disabled", why="a prompt is never cut")] = None
    prompt: Annotated[Any, refused(why="there are no stored prompts")] = None
    max_tool_calls: Annotated[Any, wish(why="this server runs no tools")] = None
    context_management: Annotated[Any, wish([], why="a prompt is never cut")] = None
    client_metadata: Ignored = None


def read_response_request(data: Any) -> GenerationRequest:
    """Read a body of Responses, with all items that it continues."""
    body = take(ResponseRequest, data)
    tools = _tools(data.get("tools"), body)
    reasoning = body.reasoning or ReasoningFields()
    prompt = [{"role": "system", "content": body.instructions}] if body.instructions else []
    return GenerationRequest(
        protocol="responses",
        model=body.model,
        prompt=prompt + _read_input(body.input, tools),
        tools=tools,
        sampling=body.sampling(
            body.max_output_tokens, body.stop, logprobs=_logprobs(body), budget=reasoning.max_tokens
        ),
        effort=reasoning.effort,
        stream=body.stream,
        echo={name: data[name] for name in _ECHOED if data.get(name) is not None},
        metadata=body.metadata or {},
        response=body.response(body.text.format if body.text else None, "text.format"),
        template_kwargs=body.chat_template_kwargs or {},
        incomplete_calls=body.incomplete_calls,
        stop_in=body.stop_in,
    )


# Fields of the request that a response repeats; the SDKs' own types require some of them.
_ECHOED = (
    "instructions", "max_output_tokens", "metadata", "parallel_tool_calls", "previous_response_id", "reasoning", "store",
    "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
)  # fmt: skip


_LOGPROBS = "message.output_text.logprobs"


def _logprobs(body: ResponseRequest) -> int | None:
    """Return the number of most likely tokens to list; None: no log-probabilities."""
    included = body.include or []
    for name in included:
        if name not in (_LOGPROBS, "reasoning.encrypted_content"):
            message = f"'include' has {name!r}, which this server does not have; it has '{_LOGPROBS}'"
            ignore("include", ApiError(400, message, code="unsupported_parameter", param="include"))
    return logprob_count(body.top_logprobs, _LOGPROBS in included, f"'include': ['{_LOGPROBS}']")


def _read_input(items: str | list[Any], tools: Tools) -> list[dict[str, Any]]:
    if not items:
        raise ApiError(400, "'input' is empty; send a text or at least one item", param="input")
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    chat: list[dict[str, Any]] = []
    shown = {place: name for name, place in tools.namespaces.items()}
    for index, item in enumerate(items):
        if isinstance(item, (CallItem, CustomCallItem)) and item.namespace:
            item.name = shown.get((item.namespace, item.name), item.name)
        _add_item(chat, item, f"input[{index}]")
    return prepare_messages(chat)


def _add_item(chat: list[dict[str, Any]], item: Any, path: str) -> None:
    """Append an item as a message, or to the assistant's last turn."""
    is_answering = bool(chat) and chat[-1]["role"] == "assistant"
    if isinstance(item, MessageItem):
        text = text_of(item.content)
        if item.role == "assistant" and is_answering and not chat[-1]["content"]:
            chat[-1]["content"] = text
        else:
            chat.append({"role": "system" if item.role == "developer" else item.role, "content": text})
    elif isinstance(item, ReasoningItem):
        text = thought_of(text_of(item.content) or text_of(item.summary), item.encrypted_content, path)
        chat.append({"role": "assistant", "content": "", "reasoning_content": text})
    elif isinstance(item, (CallItem, CustomCallItem)):
        if not is_answering:
            chat.append({"role": "assistant", "content": ""})
        call = (
            custom_call_of(item.call_id, item.name, item.input)
            if isinstance(item, CustomCallItem)
            else call_of(item.call_id, item.name, item.arguments)
        )
        chat[-1].setdefault("tool_calls", []).append(call)
    else:
        chat.append({"role": "tool", "tool_call_id": item.call_id, "content": text_of(item.output)})


def _tools(tools: list[Mapping[str, Any]] | None, body: ResponseRequest) -> Tools:
    """Convert the tools, their fields in the client's order; a name that is not unique is joined to its namespace."""
    flat = list(_flat(tools or ()))
    names = Counter(tool["name"] for _, _, tool in flat)
    converted, namespaces = [], {}
    for kind, namespace, tool in flat:
        shown = name = tool["name"]
        if namespace is not None:
            shown = name if names[name] == 1 else f"{namespace}__{name}"
            namespaces[shown] = namespace, name
        converted.append({"type": kind, kind: {**tool, "name": shown}})
    choice = body.tool_choice
    if isinstance(choice, Mapping) and "namespace" in choice:
        place = choice["namespace"], choice.get("name")
        choice = {
            **choice,
            "name": next((shown_name for shown_name, at in namespaces.items() if at == place), place[1]),
        }
    read = read_tools(converted, choice, body.parallel_tool_calls)
    return dataclasses.replace(read, namespaces=namespaces)


def _flat(
    tools: Sequence[Mapping[str, Any]], namespace: str | None = None, path: str = "tools"
) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """Yield each tool's type, namespace and fields."""
    for index, tool in enumerate(tools):
        kind, place = tool.get("type") or "function", f"{path}[{index}]"
        if kind == "namespace":
            yield from _flat(tool["tools"], tool["name"], f"{place}.tools")
        if kind not in ("function", "custom"):
            continue
        flat = {name: value for name, value in tool.items() if name in SHOWN and value is not None}
        function = tool.get("function")
        if function is not None and flat:
            raise unfit(
                f"{place}.{next(iter(flat))}", f"'{place}' has fields beside 'function'; move them into it"
            )
        if function is None and "name" not in flat:
            raise unfit(f"{place}.name", f"'{place}.name' is missing")
        yield kind, namespace, flat if function is None else function
