"""POST /v1/responses: OpenAI's Responses, as a chat. Nothing is kept between two requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from unspool.generation.prompts.history import prepare_messages
from unspool.serve.api_errors import ApiError
from unspool.serve.chat_messages import call_of, custom_call_of
from unspool.serve.content import Content, text_of
from unspool.serve.requests import GenerationRequest
from unspool.serve.response_format import FlatFormat
from unspool.serve.shared_fields import ChatFields, Count, ReasoningFields, Stop, TopLogprobs, logprob_count
from unspool.serve.tools import CustomPart, FunctionTool, ToolChoice, read_tools, unsupported_tool
from unspool.serve.wire import Ignored, Wire, kinds, refused, take, unfit

__all__ = ["ResponseRequest", "read_response_request"]


class Item(Wire, tag_field="type", kw_only=True):
    id: Ignored = None
    status: Ignored = None
    phase: Ignored = None
    namespace: Ignored = None
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
    encrypted_content: Ignored = None


class CallItem(Item, tag="function_call", kw_only=True):
    call_id: str
    name: str
    arguments: str | None = None


class OutputItem(Item, tag="function_call_output", kw_only=True):
    call_id: str
    output: Content


class CustomCallItem(Item, tag="custom_tool_call", kw_only=True):
    call_id: str
    name: str
    input: str


class CustomOutputItem(Item, tag="custom_tool_call_output", kw_only=True):
    call_id: str
    output: Content


InputItem = MessageItem | ReasoningItem | CallItem | OutputItem | CustomCallItem | CustomOutputItem

_Accepted = kinds(
    "unsupported_content",
    "'{path}' is of type '{kind}'; this server accepts messages, calls, their results and reasoning",
    "message",
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
    """A tool that takes a text."""

    defer_loading: Ignored = None


class TextOptions(Wire, kw_only=True):
    format: FlatFormat | None = None
    verbosity: Annotated[Any, refused("medium", why="the model has no such switch")] = None


class EventOptions(Wire, kw_only=True):
    include_obfuscation: Ignored = None


_NOTHING_KEPT = "nothing is kept between two requests; send all items in 'input'"


class ResponseRequest(ChatFields, kw_only=True):
    """A body of Responses."""

    input: str | list[Annotated[InputItem, _Accepted]]
    instructions: str | None = None
    tools: list[Annotated[ResponseTool | ResponseCustom, unsupported_tool("function", "custom")]] | None = (
        None
    )
    tool_choice: ToolChoice = None
    parallel_tool_calls: bool = True
    max_output_tokens: Count | None = None
    stop: Stop | None = None
    stream_options: EventOptions | None = None
    include: list[Any] | None = None
    top_logprobs: TopLogprobs | None = None
    reasoning: ReasoningFields | None = None
    text: TextOptions | None = None
    previous_response_id: Annotated[Any, refused(why=_NOTHING_KEPT)] = None
    conversation: Annotated[Any, refused(why=_NOTHING_KEPT)] = None
    background: Annotated[Any, refused(False, why=_NOTHING_KEPT)] = None
    truncation: Annotated[Any, refused("disabled", why="a prompt is never cut")] = None
    prompt: Annotated[Any, refused(why="there are no stored prompts")] = None
    max_tool_calls: Annotated[Any, refused(why="this server runs no tools")] = None
    context_management: Annotated[Any, refused([], why="a prompt is never cut")] = None


def read_response_request(data: Any) -> GenerationRequest:
    """A body of Responses."""
    body = take(ResponseRequest, data)
    reasoning = body.reasoning or ReasoningFields()
    prompt = [{"role": "system", "content": body.instructions}] if body.instructions else []
    return GenerationRequest(
        protocol="responses",
        model=body.model,
        prompt=prompt + _read_input(body.input),
        tools=read_tools(_tools(data.get("tools")), body.tool_choice, body.parallel_tool_calls),
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


# The fields of its request that a response repeats; the SDKs' own types ask for some of these.
_ECHOED = (
    "instructions", "max_output_tokens", "metadata", "parallel_tool_calls", "reasoning", "temperature", "text",
    "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
)  # fmt: skip


_LOGPROBS = "message.output_text.logprobs"


def _logprobs(body: ResponseRequest) -> int | None:
    """The number of most likely tokens to list; None: no log-probabilities."""
    included = body.include or []
    unknown = [name for name in included if name not in (_LOGPROBS, "reasoning.encrypted_content")]
    if unknown:
        message = f"'include' has {unknown[0]!r}, which this server does not have; it has '{_LOGPROBS}'"
        raise ApiError(400, message, code="unsupported_parameter", param="include")
    return logprob_count(body.top_logprobs, _LOGPROBS in included, f"'include': ['{_LOGPROBS}']")


def _read_input(items: str | list[Any]) -> list[dict[str, Any]]:
    if not items:
        raise ApiError(400, "'input' is empty; send a text or at least one item", param="input")
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    chat: list[dict[str, Any]] = []
    for item in items:
        _add_item(chat, item)
    return prepare_messages(chat)


def _add_item(chat: list[dict[str, Any]], item: Any) -> None:
    """Append an item as a message, or to the assistant's last turn."""
    is_answering = bool(chat) and chat[-1]["role"] == "assistant"
    if isinstance(item, MessageItem):
        text = text_of(item.content)
        if item.role == "assistant" and is_answering and not chat[-1]["content"]:
            chat[-1]["content"] = text
        else:
            chat.append({"role": "system" if item.role == "developer" else item.role, "content": text})
    elif isinstance(item, ReasoningItem):
        text = text_of(item.content) or text_of(item.summary)
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


def _tools(tools: list[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """The tools as the client wrote them, in the shape of chat completions; templates show them in this order."""
    found = []
    for index, tool in enumerate(tools or ()):
        path, apart = f"tools[{index}]", ("type", "defer_loading", "function")
        flat = {name: value for name, value in tool.items() if name not in apart and value is not None}
        if tool.get("type") == "custom":
            found.append({"type": "custom", "custom": flat})
            continue
        function = tool.get("function")
        if function is not None and flat:
            raise unfit(
                f"{path}.{next(iter(flat))}", f"'{path}' has fields beside 'function'; move them into it"
            )
        if function is None and "name" not in flat:
            raise unfit(f"{path}.name", f"'{path}.name' is missing")
        found.append({"type": "function", "function": flat if function is None else function})
    return found
