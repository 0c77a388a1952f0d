"""POST /v1/chat/completions."""

from __future__ import annotations

from typing import Annotated, Any

from unspool.serve.http.api_errors import ApiError
from unspool.serve.http.ignored import ignore
from unspool.serve.wires.chat_messages import ChatMessage, read_chat
from unspool.serve.wires.generation_request import GenerationRequest
from unspool.serve.wires.response_format import NestedFormat
from unspool.serve.wires.shared_fields import (
    Answers,
    ChatFields,
    Count,
    ReasoningFields,
    Stop,
    StreamOptions,
    TopLogprobs,
    logprob_count,
)
from unspool.serve.wires.tools import ChatTool, ToolChoice, offered_in, read_tools
from unspool.serve.wires.wire import refused, take, wish

__all__ = ["ChatRequest", "read_chat_request"]


class ChatRequest(ChatFields, kw_only=True):
    """A body of chat completions."""

    messages: list[ChatMessage]
    tools: list[ChatTool] | None = None
    tool_choice: ToolChoice = None
    parallel_tool_calls: bool = True
    max_completion_tokens: Count | None = None
    max_tokens: Count | None = None
    n: Answers | None = None
    stop: Stop | None = None
    stream_options: StreamOptions | None = None
    logprobs: bool = False
    top_logprobs: TopLogprobs | None = None
    reasoning_effort: str | None = None
    continue_final_message: bool = False
    add_generation_prompt: bool | None = None
    reasoning: ReasoningFields | None = None
    response_format: NestedFormat | None = None
    modalities: Annotated[Any, refused(["text"], why="there is text alone")] = None
    audio: Annotated[Any, refused(why="there is text alone")] = None
    prediction: Annotated[Any, wish(why="answers are not predicted")] = None
    verbosity: Annotated[Any, wish("medium", why="the model has no such switch")] = None
    web_search_options: Annotated[Any, wish(why="there is no web search")] = None
    functions: Annotated[Any, refused([], why="tools have replaced it")] = None
    function_call: Annotated[Any, refused("auto", "none", why="tool_choice has replaced it")] = None


def read_chat_request(data: Any) -> GenerationRequest:
    """Read a body of chat completions."""
    body = take(ChatRequest, data)
    longest, older = body.max_completion_tokens, body.max_tokens
    if longest is not None and older is not None and longest != older:
        raise ApiError(
            400,
            f"'max_completion_tokens' is {longest}, and 'max_tokens' is {older}; send one of them, or the same number",
            code="invalid_argument",
            param="max_tokens",
        )
    reasoning = body.reasoning or ReasoningFields()
    logprobs = logprob_count(body.top_logprobs, body.logprobs, "'logprobs': true")
    return GenerationRequest(
        protocol="chat_completions",
        model=body.model,
        prompt=read_chat(body.messages),
        tools=read_tools(offered_in(data), body.tool_choice, body.parallel_tool_calls),
        sampling=body.sampling(longest or older, body.stop, body.n, logprobs, budget=reasoning.max_tokens),
        effort=body.reasoning_effort or reasoning.effort,
        stream=body.stream,
        include_usage=body.stream and body.stream_options is not None and body.stream_options.include_usage,
        metadata=body.metadata or {},
        response=body.response(body.response_format, "response_format"),
        template_kwargs=body.chat_template_kwargs or {},
        incomplete_calls=body.incomplete_calls,
        stop_in=body.stop_in,
        prefill=_continues(body),
    )


def _continues(body: ChatRequest) -> bool:
    """Whether the answer continues the last message, according to vLLM's two fields for this."""
    if body.continue_final_message and body.add_generation_prompt:
        message = "'continue_final_message' and 'add_generation_prompt' exclude one another; send one of them"
        raise ApiError(400, message, code="invalid_argument", param="add_generation_prompt")
    if body.add_generation_prompt is False and not body.continue_final_message:
        message = (
            "'add_generation_prompt' is not supported: an answer begins where the template's prompt ends"
        )
        ignore(
            "add_generation_prompt",
            ApiError(400, message, code="unsupported_parameter", param="add_generation_prompt"),
        )
    return body.continue_final_message
