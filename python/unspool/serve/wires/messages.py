"""POST /v1/messages: Anthropic's Messages, as a chat."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from unspool.generation.prompts.history import prepare_messages
from unspool.serve.http.api_errors import ApiError
from unspool.serve.wires.content import Content, Text, ToolOutput, text_of, thought_of
from unspool.serve.wires.generation_request import GenerationRequest
from unspool.serve.wires.response_format import FlatFormat
from unspool.serve.wires.shared_fields import ChatFields, Count, Stop
from unspool.serve.wires.tools import Tools, read_tools, unsupported_tool
from unspool.serve.wires.wire import Ignored, SentBack, Wire, kinds, take, unfit, wish

__all__ = ["CountRequest", "MessagesRequest", "read_messages_count", "read_messages_request"]


class Thinking(SentBack, tag_field="type", tag="thinking", kw_only=True):
    thinking: str
    signature: str | None = None


class RedactedThinking(SentBack, tag_field="type", tag="redacted_thinking", kw_only=True):
    """Encrypted reasoning."""


class ToolUse(SentBack, tag_field="type", tag="tool_use", kw_only=True):
    id: str
    name: str
    input: dict[str, Any] | None = None


class ToolResult(Wire, tag_field="type", tag="tool_result", kw_only=True):
    tool_use_id: str
    content: ToolOutput | None = None
    is_error: bool = False
    cache_control: Ignored = None


_SAYS = "'{path}' is of type '{kind}'; this server accepts text, calls and their results"
_Accepted = kinds("unsupported_content", _SAYS)
# Calls that a vendor ran itself, and their results, in a conversation that began with that vendor.
_Answered = kinds(
    "unsupported_content",
    _SAYS,
    left_out=r"(server|mcp)_tool_use|\w{1,40}_tool_result|container_upload|compaction",
)


class UserTurn(Wire, tag_field="role", tag="user", kw_only=True):
    content: str | list[Annotated[Text | ToolResult, _Accepted]]


class AssistantTurn(Wire, tag_field="role", tag="assistant", kw_only=True):
    content: str | list[Annotated[Text | Thinking | RedactedThinking | ToolUse, _Answered]]


class SystemTurn(Wire, tag_field="role", tag="system", kw_only=True):
    content: str | list[Annotated[Text, _Accepted]]


class CustomTool(Wire, tag_field="type", tag="custom", kw_only=True):
    name: str
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    strict: bool | None = None
    cache_control: Ignored = None
    input_examples: Ignored = None
    eager_input_streaming: Ignored = None
    defer_loading: Ignored = None
    allowed_callers: Ignored = None


class MessagesChoice(Wire, kw_only=True):
    type: Literal["auto", "any", "none", "tool"]
    name: str | None = None
    disable_parallel_tool_use: bool = False


class ThinkingSwitch(Wire, kw_only=True):
    """Switches reasoning on or off and limits its tokens; `max_tokens` limits reasoning and answer together."""

    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: Count | None = None
    display: Ignored = None


class OutputConfig(Wire, kw_only=True):
    effort: str | None = None
    format: FlatFormat | None = None


_NotHere = wish([], {}, why="this server does not have it")


class CountRequest(ChatFields, kw_only=True):
    """A body of Messages' count_tokens, which is a body of Messages without `max_tokens`."""

    messages: list[UserTurn | AssistantTurn | SystemTurn]
    system: Content | None = None
    max_tokens: Count | None = None
    tools: list[Annotated[CustomTool, unsupported_tool("custom")]] | None = None
    tool_choice: MessagesChoice | None = None
    stop_sequences: Stop | None = None
    thinking: ThinkingSwitch | None = None
    output_config: OutputConfig | None = None
    output_format: FlatFormat | None = None
    container: Annotated[Any, _NotHere] = None
    context_management: Annotated[Any, _NotHere] = None
    mcp_servers: Annotated[Any, _NotHere] = None
    inference_geo: Annotated[Any, _NotHere] = None
    fallbacks: Annotated[Any, _NotHere] = None
    speed: Annotated[Any, wish("standard", why="there is one speed")] = None
    thread: Any = None
    cache_control: Ignored = None
    betas: Ignored = None


class MessagesRequest(CountRequest, kw_only=True):
    """A body of Messages."""

    max_tokens: Count


def read_messages_request(data: Any) -> GenerationRequest:
    """Read a body of Messages."""
    return _read(take(MessagesRequest, data))


def read_messages_count(data: Any) -> GenerationRequest:
    """Read a body of Messages' count_tokens."""
    return _read(take(CountRequest, data))


def _read(body: CountRequest) -> GenerationRequest:
    if body.thread is not None:
        # These details make Anthropic's tool runner send all messages, without a thread.
        raise ApiError(
            400, "'thread' is not supported: nothing is kept between two requests; send all messages",
            code="unsupported_parameter", param="thread",
            details={"error_code": "thread_unsupported_request", "unsupported": ["thread"]},
        )  # fmt: skip
    if not body.messages:
        raise ApiError(400, "'messages' is empty; send at least one message", param="messages")
    system = text_of(body.system)
    prompt = [{"role": "system", "content": system}] if system else []
    for index, turn in enumerate(body.messages):
        prompt += _chat_messages(turn, f"messages[{index}].content")
    last = prompt[-1]
    is_begun = last["role"] == "assistant"
    if is_begun and ("tool_calls" in last or not (last["content"] or last.get("reasoning_content"))):
        raise ApiError(
            400, "'messages' ends with an assistant's turn that has calls or no text, which no answer can continue; end "
            "with the calls' results, with the user's turn, or with text",
            code="unsupported_content", param="messages",
        )  # fmt: skip
    config = body.output_config or OutputConfig()
    switch = body.thinking or ThinkingSwitch(type="adaptive")
    name = "output_format" if config.format is None else "output_config.format"
    return GenerationRequest(
        protocol="messages",
        model=body.model,
        prompt=prepare_messages(prompt),
        tools=_tools(body),
        sampling=body.sampling(
            body.max_tokens, body.stop_sequences, stop_field="stop_sequences", budget=switch.budget_tokens
        ),
        thinking=_SWITCHES[switch.type],
        effort=config.effort,
        response=body.response(config.format or body.output_format, name),
        stream=body.stream,
        metadata=body.metadata or {},
        template_kwargs=body.chat_template_kwargs or {},
        incomplete_calls=body.incomplete_calls,
        stop_in=body.stop_in,
        prefill=is_begun,
    )


_SWITCHES = {"enabled": True, "disabled": False, "adaptive": None}


def _chat_messages(turn: UserTurn | AssistantTurn | SystemTurn, path: str) -> list[dict[str, Any]]:
    """Convert a turn to chat messages; results of calls come before the user's text."""
    message: dict[str, Any] = {"role": turn.__struct_config__.tag}
    if isinstance(turn.content, str):
        return [{**message, "content": turn.content}]
    texts: list[Text] = []
    results: list[dict[str, Any]] = []
    for index, block in enumerate(turn.content):
        if isinstance(block, Text):
            texts.append(block)
        elif isinstance(block, Thinking):
            thought = thought_of(block.thinking, block.signature, f"{path}[{index}]")
            message["reasoning_content"] = message.get("reasoning_content", "") + thought
        elif isinstance(block, ToolUse):
            function = {"name": block.name, "arguments": block.input or {}}
            call = {"id": block.id, "type": "function", "function": function}
            message.setdefault("tool_calls", []).append(call)
        elif isinstance(block, ToolResult):
            text = text_of(block.content)
            content = json.dumps({"error": text}, ensure_ascii=False) if block.is_error else text
            results.append({"role": "tool", "tool_call_id": block.tool_use_id, "content": content})
    message["content"] = text_of(texts)
    is_empty = not message["content"] and len(message) == 2
    return results if results and is_empty else [*results, message]


_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def _tools(body: CountRequest) -> Tools:
    functions = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
                "strict": tool.strict,
            },
        }
        for tool in body.tools or ()
    ]
    choice = body.tool_choice
    if choice is None:
        return read_tools(functions)
    if (choice.name is None) == (choice.type == "tool"):
        says = "is missing" if choice.name is None else f"goes with type 'tool', not '{choice.type}'"
        raise unfit("tool_choice.name", f"'tool_choice.name' {says}")
    named = {"type": "function", "function": {"name": choice.name}}
    return read_tools(functions, _CHOICES.get(choice.type, named), not choice.disable_parallel_tool_use)
