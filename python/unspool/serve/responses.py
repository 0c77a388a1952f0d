"""POST /v1/responses: OpenAI's Responses, as a chat. Nothing is kept between two requests."""

from __future__ import annotations

from typing import Any

from unspool.serve.api_errors import ApiError
from unspool.serve.chat import refuse_unsupported
from unspool.serve.fields import Fields, unfit
from unspool.serve.requests import (
    GenerationRequest,
    Tools,
    parse_arguments,
    read_content,
    read_parser_options,
    read_sampling,
    read_stop,
    read_tools,
    read_top_logprobs,
)
from unspool.serve.response_schema import read_format

__all__ = ["read_response_request"]


def read_response_request(data: Any) -> GenerationRequest:
    """A body of Responses.

    Raises:
        ApiError: 422 for an invalid body, 400 for an unsupported value.
    """
    fields = Fields(data)
    model = fields.require("model", fields.text("model"))
    instructions = fields.text("instructions")
    prompt = [{"role": "system", "content": instructions}] if instructions else []
    prompt += _read_input(fields.require("input", fields.any("input")))
    tools = _read_tools(
        fields.items("tools"), fields.any("tool_choice"), fields.flag("parallel_tool_calls", True)
    )
    longest = fields.integer("max_output_tokens", least=1)
    stream = fields.flag("stream")
    reasoning = fields.inner("reasoning")
    effort = reasoning.text("effort")
    reasoning.harmless("summary", "generate_summary")  # reasoning is sent whole
    reasoning.end()
    text = fields.inner("text")
    response_schema = read_format(text, "format")
    text.only("verbosity", "medium", why="the model has no such switch")
    text.end()
    stream_options = fields.inner("stream_options")
    stream_options.harmless("include_obfuscation")
    stream_options.end()
    request = GenerationRequest(
        protocol="responses",
        model=model,
        prompt=prompt,
        tools=tools,
        sampling=read_sampling(fields, longest, read_stop(fields), logprobs=_read_logprobs(fields)),
        effort=effort,
        template_kwargs=fields.mapping("chat_template_kwargs") or {},
        stream=stream,
        echo={name: data[name] for name in _ECHOED if data.get(name) is not None},
        metadata=fields.mapping("metadata") or {},
        response_schema=response_schema,
        **read_parser_options(fields),
    )
    refuse_unsupported(fields)
    nothing_kept = "nothing is kept between two requests; send all items in 'input'"
    fields.only("previous_response_id", why=nothing_kept)
    fields.only("conversation", why=nothing_kept)
    fields.only("background", False, why=nothing_kept)
    fields.only("truncation", "disabled", why="a prompt is never cut")
    fields.only("prompt", why="there are no stored prompts")
    fields.only("max_tool_calls", why="this server runs no tools")
    fields.only("context_management", [], why="a prompt is never cut")
    fields.end()
    return request


# The fields of its request that a response repeats; the SDKs' own types ask for some of these.
_ECHOED = (
    "instructions", "max_output_tokens", "metadata", "parallel_tool_calls", "reasoning", "temperature", "text",
    "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
)  # fmt: skip


_LOGPROBS = "message.output_text.logprobs"


def _read_logprobs(fields: Fields) -> int | None:
    """`include` and `top_logprobs`: the number of most likely tokens to list; None: no log-probabilities."""
    included = fields.items("include") or []
    unknown = [name for name in included if name not in (_LOGPROBS, "reasoning.encrypted_content")]
    if unknown:
        raise ApiError(
            400, f"'include' has {unknown[0]!r}, which this server does not have; it has '{_LOGPROBS}'",
            code="unsupported_parameter", param="include",
        )  # fmt: skip
    return read_top_logprobs(fields, _LOGPROBS in included, f"'include': ['{_LOGPROBS}']")


def _read_input(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, str):
        value = [{"role": "user", "content": value}]
    if not isinstance(value, list):
        raise unfit("input", "'input' must be a text or a list of items")
    if not value or value == [{"role": "user", "content": ""}]:
        raise ApiError(400, "'input' is empty; send a text or at least one item", param="input")
    chat: list[dict[str, Any]] = []
    for index, item in enumerate(value):
        _add_item(chat, item, f"input[{index}]")
    return chat


def _add_item(chat: list[dict[str, Any]], item: Any, path: str) -> None:
    """Append an item as a message, or to the assistant's last turn."""
    fields = Fields(item, path)
    kind = fields.text("type", "message")
    fields.harmless("id", "status", "phase", "namespace", "caller")
    if kind == "message":
        role = fields.text("role")
        if role not in ("system", "developer", "user", "assistant"):
            raise unfit(
                f"{path}.role", f"'{path}.role' is '{role}'; use user, assistant, system or developer"
            )
        text = read_content(fields.require("content", fields.any("content")), f"{path}.content") or ""
        if role == "assistant" and chat and chat[-1]["role"] == "assistant" and not chat[-1]["content"]:
            chat[-1]["content"] = text
        else:
            chat.append({"role": "system" if role == "developer" else role, "content": text})
    elif kind == "reasoning":
        content, summary = fields.items("content"), fields.items("summary")
        fields.harmless("encrypted_content")
        text = _read_reasoning(content, f"{path}.content") or _read_reasoning(summary, f"{path}.summary")
        chat.append({"role": "assistant", "content": "", "reasoning_content": text})
    elif kind == "function_call":
        call = {
            "id": fields.require("call_id", fields.text("call_id")),
            "type": "function",
            "function": {
                "name": fields.require("name", fields.text("name")),
                "arguments": parse_arguments(fields.text("arguments") or "{}"),
            },
        }
        if not chat or chat[-1]["role"] != "assistant":
            chat.append({"role": "assistant", "content": ""})
        chat[-1].setdefault("tool_calls", []).append(call)
    elif kind == "function_call_output":
        id = fields.require("call_id", fields.text("call_id"))
        text = read_content(fields.require("output", fields.any("output")), f"{path}.output") or ""
        chat.append({"role": "tool", "tool_call_id": id, "content": text})
    else:
        raise ApiError(
            400, f"'{path}' is of type '{kind}'; this server accepts messages, calls, their results and reasoning",
            code="unsupported_content", param=path,
        )  # fmt: skip
    fields.end()


def _read_reasoning(parts: list[Any] | None, path: str) -> str:
    texts = []
    for index, part in enumerate(parts or ()):
        fields = Fields(part, f"{path}[{index}]")
        fields.any("type")
        texts.append(fields.require("text", fields.text("text")))
        fields.end()
    return "".join(texts)


def _read_tools(tools: list[Any] | None, choice: Any, is_parallel: bool) -> Tools:
    """Tools there are flat: no `function` around the name."""
    nested = []
    for index, tool in enumerate(tools or ()):
        if isinstance(tool, dict) and tool.get("type", "function") == "function" and "function" not in tool:
            function = {key: value for key, value in tool.items() if key not in ("type", "defer_loading")}
            nested.append({"type": "function", "function": function})
        elif isinstance(tool, dict) and "function" not in tool:
            raise ApiError(
                400, f"'tools[{index}]' is of type '{tool.get('type')}', which this server does not have",
                code="unsupported_tool", param=f"tools[{index}]",
            )  # fmt: skip
        else:
            nested.append(tool)
    return read_tools(nested, choice, is_parallel)
