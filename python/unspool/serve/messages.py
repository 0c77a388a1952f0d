"""POST /v1/messages: Anthropic's Messages, as a chat."""

from __future__ import annotations

import json
from typing import Any

from unspool.serve.api_errors import ApiError
from unspool.serve.chat import refuse_unsupported
from unspool.serve.fields import Fields, unfit
from unspool.serve.requests import (
    GenerationRequest,
    Tools,
    read_content,
    read_parser_options,
    read_sampling,
    read_stop,
    read_tools,
)
from unspool.serve.response_schema import read_format

__all__ = ["read_messages_count", "read_messages_request"]


def read_messages_request(data: Any) -> GenerationRequest:
    """A body of Messages.

    Raises:
        ApiError: 422 for an invalid body, 400 for an unsupported value.
    """
    return _read(Fields(data), counts_only=False)


def read_messages_count(data: Any) -> GenerationRequest:
    """A body of Messages' count_tokens: the same, but for how tokens are chosen."""
    return _read(Fields(data), counts_only=True)


def _read(fields: Fields, counts_only: bool) -> GenerationRequest:
    model = fields.require("model", fields.text("model"))
    prompt = _read_system(fields.any("system"))
    prompt += _read_messages(fields.require("messages", fields.items("messages")))
    tools = _read_tools(fields.items("tools"), fields.mapping("tool_choice"))
    max_tokens = fields.integer("max_tokens", least=1)
    if not counts_only:
        fields.require("max_tokens", max_tokens)
        if prompt[-1]["role"] == "assistant":
            raise ApiError(
                400, "'messages' ends with the assistant's turn, and no answer can be prefilled; end with the user's",
                code="unsupported_content", param="messages",
            )  # fmt: skip
    effort, response_schema = _read_output_config(fields)
    request = GenerationRequest(
        protocol="messages",
        model=model,
        prompt=prompt,
        tools=tools,
        sampling=read_sampling(fields, max_tokens, read_stop(fields, "stop_sequences")),
        thinking=_read_thinking(fields.mapping("thinking")),
        effort=effort,
        response_schema=response_schema,
        template_kwargs=fields.mapping("chat_template_kwargs") or {},
        stream=fields.flag("stream"),
        metadata=fields.mapping("metadata") or {},
        **read_parser_options(fields),
    )
    refuse_unsupported(fields)
    for name in ("container", "context_management", "mcp_servers", "inference_geo", "fallbacks"):
        fields.only(name, [], {}, why="this server does not have it")
    if fields.any("thread") is not None:
        # By these details Anthropic's tool runner knows to send all messages, without a thread.
        raise ApiError(
            400, "'thread' is not supported: nothing is kept between two requests; send all messages",
            code="unsupported_parameter", param="thread",
            details={"error_code": "thread_unsupported_request", "unsupported": ["thread"]},
        )  # fmt: skip
    fields.harmless("cache_control", "betas")
    fields.end()
    return request


def _read_output_config(fields: Fields) -> tuple[str | None, dict[str, Any] | None]:
    """The effort, and the JSON Schema of the answer; older clients send that as `output_format`."""
    config = fields.inner("output_config")
    effort = config.text("effort")
    schema = read_format(config, "format")
    config.end()
    older = read_format(fields, "output_format")
    return effort, schema if schema is not None else older


def _read_thinking(thinking: dict[str, Any] | None) -> bool | None:
    if thinking is None:
        return None
    fields = Fields(thinking, "thinking")
    kind = fields.text("type")
    if kind not in ("enabled", "disabled", "adaptive"):
        raise unfit("thinking.type", "'thinking.type' must be 'enabled', 'disabled' or 'adaptive'")
    fields.integer("budget_tokens", least=1)  # max_tokens bounds both; no model here counts its thoughts
    fields.harmless("display")
    fields.end()
    return None if kind == "adaptive" else kind == "enabled"


def _read_system(system: Any) -> list[dict[str, Any]]:
    text = read_content(system, "system")
    return [{"role": "system", "content": text}] if text else []


def _read_messages(messages: list[Any]) -> list[dict[str, Any]]:
    if not messages:
        raise ApiError(400, "'messages' is empty; send at least one message", param="messages")
    read: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        fields = Fields(message, path)
        role = fields.text("role")
        if role not in ("user", "assistant", "system"):
            raise unfit(f"{path}.role", f"'{path}.role' is '{role}'; use user or assistant")
        content = fields.any("content")
        fields.end()
        read += _read_blocks(role, content, f"{path}.content")
    return read


def _read_blocks(role: str, content: Any, path: str) -> list[dict[str, Any]]:
    """A message's blocks as chat messages; results of calls come before the user's text."""
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    if not isinstance(content, list):
        raise unfit(path, f"'{path}' must be a text or a list of blocks")
    texts: list[Any] = []
    results: list[dict[str, Any]] = []
    message: dict[str, Any] = {"role": role}
    for index, block in enumerate(content):
        place = f"{path}[{index}]"
        fields = Fields(block, place)
        kind = fields.text("type")
        if kind == "text":
            texts.append(block)
        elif kind == "thinking" and role == "assistant":
            text = fields.require("thinking", fields.text("thinking"))
            message["reasoning_content"] = message.get("reasoning_content", "") + text
        elif kind == "redacted_thinking" and role == "assistant":
            pass  # encrypted
        elif kind == "tool_use" and role == "assistant":
            message.setdefault("tool_calls", []).append(_read_use(fields))
        elif kind == "tool_result" and role == "user":
            results.append(_read_result(fields, place))
        else:
            raise ApiError(
                400, f"'{place}' is of type '{kind}'; this server accepts text, calls and their results",
                code="unsupported_content", param=place,
            )  # fmt: skip
    message["content"] = read_content(texts, path) or ""
    is_empty = not message["content"] and len(message) == 2
    return results if results and is_empty else [*results, message]


def _read_use(fields: Fields) -> dict[str, Any]:
    # Its other fields come from an answer.
    return {
        "id": fields.require("id", fields.text("id")),
        "type": "function",
        "function": {
            "name": fields.require("name", fields.text("name")),
            "arguments": fields.mapping("input") or {},
        },
    }


def _read_result(fields: Fields, path: str) -> dict[str, Any]:
    text = read_content(fields.any("content"), f"{path}.content") or ""
    failed = fields.flag("is_error")
    id = fields.require("tool_use_id", fields.text("tool_use_id"))
    fields.harmless("cache_control")
    fields.end()
    return {
        "role": "tool",
        "tool_call_id": id,
        "content": json.dumps({"error": text}, ensure_ascii=False) if failed else text,
    }


_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def _read_tools(tools: list[Any] | None, choice: dict[str, Any] | None) -> Tools:
    converted = []
    for index, tool in enumerate(tools or ()):
        path = f"tools[{index}]"
        fields = Fields(tool, path)
        kind = fields.text("type", "custom")
        if kind != "custom":
            raise ApiError(
                400, f"'{path}' is a tool of type '{kind}', which this server does not have",
                code="unsupported_tool", param=path,
            )  # fmt: skip
        function = {
            "name": fields.require("name", fields.text("name")),
            "description": fields.text("description"),
            "parameters": fields.mapping("input_schema"),
            "strict": fields.any("strict"),
        }
        fields.harmless(
            "cache_control", "input_examples", "eager_input_streaming", "defer_loading", "allowed_callers"
        )
        fields.end()
        converted.append({"type": "function", "function": function})
    if choice is None:
        return read_tools(converted, None, None)
    fields = Fields(choice, "tool_choice")
    kind = fields.text("type")
    is_parallel = not fields.flag("disable_parallel_tool_use")
    if kind == "tool":
        name = fields.require("name", fields.text("name"))
        fields.end()
        return read_tools(converted, {"type": "function", "function": {"name": name}}, is_parallel)
    if kind not in _CHOICES:
        raise unfit("tool_choice.type", "'tool_choice.type' must be 'auto', 'any', 'none' or 'tool'")
    fields.end()
    return read_tools(converted, _CHOICES[kind], is_parallel)
