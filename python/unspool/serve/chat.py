"""POST /v1/chat/completions."""

from __future__ import annotations

from typing import Any

from unspool.serve.api_errors import ApiError
from unspool.serve.fields import Fields
from unspool.serve.requests import (
    GenerationRequest,
    read_messages,
    read_parser_options,
    read_sampling,
    read_stop,
    read_stream_options,
    read_tools,
    read_top_logprobs,
)
from unspool.serve.response_schema import read_response_schema

__all__ = ["read_chat_request"]


def read_chat_request(data: Any) -> GenerationRequest:
    """A body of chat completions.

    Raises:
        ApiError: 422 for an invalid body, 400 for an unsupported value.
    """
    fields = Fields(data)
    model = fields.require("model", fields.text("model"))
    messages = read_messages(fields.require("messages", fields.items("messages")))
    stream = fields.flag("stream")
    longest = fields.integer("max_completion_tokens", least=1)
    older = fields.integer("max_tokens", least=1)
    if longest is not None and older is not None and longest != older:
        raise ApiError(
            400,
            f"'max_completion_tokens' is {longest}, and 'max_tokens' is {older}; send one of them, or the same number",
            code="invalid_argument",
            param="max_tokens",
        )
    n = fields.integer("n", least=1)
    stop = read_stop(fields)
    logprobs = read_top_logprobs(fields, fields.flag("logprobs"), "'logprobs': true")
    request = GenerationRequest(
        protocol="chat_completions",
        model=model,
        prompt=messages,
        tools=read_tools(
            fields.items("tools"), fields.any("tool_choice"), fields.flag("parallel_tool_calls", True)
        ),
        sampling=read_sampling(fields, longest if longest is not None else older, stop, n, logprobs),
        effort=fields.text("reasoning_effort"),
        template_kwargs=fields.mapping("chat_template_kwargs") or {},
        stream=stream,
        include_usage=read_stream_options(fields, stream),
        metadata=fields.mapping("metadata") or {},
        response_schema=read_response_schema(fields),
        **read_parser_options(fields),
    )
    refuse_unsupported(fields)
    fields.only("modalities", ["text"], why="there is text alone")
    fields.only("audio", why="there is text alone")
    fields.only("prediction", why="answers are not predicted")
    fields.only("verbosity", "medium", why="the model has no such switch")
    fields.only("web_search_options", why="there is no web search")
    fields.only("functions", [], why="tools have replaced it")
    fields.only("function_call", "auto", "none", why="tool_choice has replaced it")
    fields.end()
    return request


def refuse_unsupported(fields: Fields) -> None:
    """Read the fields that no endpoint supports, and those that change nothing."""
    fields.only("logit_bias", {}, why="logits are left as they are")
    fields.only("service_tier", "auto", "default", "standard_only", why="there is one tier")
    fields.harmless(
        "user", "store", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
        "prompt_cache_options",
    )  # fmt: skip
