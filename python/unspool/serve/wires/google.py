"""POST /v1beta/models/{model}:generateContent, :streamGenerateContent and :countTokens: Google's API, as a chat.

Keys may be in camelCase or in snake_case at every level, since Google's own SDKs mix them in one body. This module and
error messages use snake_case.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from unspool.core.schema.google_dialect import from_google, listed_values
from unspool.generation.prompts.history import prepare_messages
from unspool.serve.http.api_errors import ApiError
from unspool.serve.http.ignored import ignore
from unspool.serve.wires.content import SIGNATURE_LENGTH, SIGNATURE_PREFIX, thought_of
from unspool.serve.wires.generation_request import GenerationRequest
from unspool.serve.wires.response_format import FlatFormat
from unspool.serve.wires.shared_fields import Answers, Count, SamplingFields, TopLogprobs
from unspool.serve.wires.tools import Tools, read_tools
from unspool.serve.wires.wire import Ignored, SentBack, Wire, refused, take, wish

__all__ = ["GoogleCountRequest", "GoogleRequest", "read_google_count", "read_google_request"]


class FunctionCall(SentBack, kw_only=True):
    id: str | None = None
    name: str
    args: dict[str, Any] | None = None


class Blob(SentBack, kw_only=True):
    mime_type: str = ""


class ResultPart(SentBack, kw_only=True):
    """A part with data in a function's result."""

    inline_data: Blob | None = None
    file_data: Blob | None = None


class FunctionResponse(SentBack, kw_only=True):
    id: str | None = None
    name: str
    response: dict[str, Any] | None = None
    parts: list[ResultPart] | None = None


_OnlyText = refused(why="this server accepts text, calls and their results")


class Part(Wire, kw_only=True):
    """A part: a text, a call, or a call's result."""

    text: str | None = None
    thought: bool = False
    thought_signature: str | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    inline_data: Annotated[Any, _OnlyText] = None
    file_data: Annotated[Any, _OnlyText] = None
    executable_code: Annotated[Any, _OnlyText] = None
    code_execution_result: Annotated[Any, _OnlyText] = None


class GoogleContent(Wire, kw_only=True):
    """A turn."""

    role: Literal["user", "model", "function", "system"] = "user"
    parts: list[Part] | None = None


class FunctionDeclaration(Wire, kw_only=True):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    parameters_json_schema: dict[str, Any] | None = None
    response: Ignored = None
    response_json_schema: Ignored = None
    behavior: Ignored = None


class GoogleTool(Wire, kw_only=True):
    """Functions. Tools that only Google's servers have, such as `google_search`, are ignored and reported."""

    function_declarations: list[FunctionDeclaration] | None = None


class FunctionCallingConfig(Wire, kw_only=True):
    mode: Literal["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"] = "AUTO"
    allowed_function_names: list[str] | None = None
    stream_function_call_arguments: bool = False


class ToolConfig(Wire, kw_only=True):
    function_calling_config: FunctionCallingConfig | None = None


class ThinkingConfig(Wire, kw_only=True):
    """The reasoning's level or budget in tokens. A budget of -1 leaves it to the model, and 0 means no reasoning."""

    include_thoughts: Annotated[Any, wish(True, why="thoughts are always sent")] = None
    thinking_budget: int | None = None
    thinking_level: str | None = None


class GenerationConfig(SamplingFields, kw_only=True):
    candidate_count: Answers | None = None
    max_output_tokens: Count | None = None
    stop_sequences: list[str] | None = None
    response_mime_type: Literal["text/plain", "application/json", "text/x.enum"] = "text/plain"
    response_schema: dict[str, Any] | None = None
    response_json_schema: dict[str, Any] | None = None
    response_logprobs: bool = False
    logprobs: TopLogprobs | None = None
    thinking_config: ThinkingConfig | None = None
    response_modalities: Annotated[Any, refused([], ["TEXT"], why="there is text alone")] = None


class GoogleRequest(Wire, kw_only=True):
    """A body of generateContent."""

    contents: list[GoogleContent]
    system_instruction: GoogleContent | None = None
    tools: list[GoogleTool] | None = None
    tool_config: ToolConfig | None = None
    generation_config: GenerationConfig | None = None
    cached_content: Annotated[Any, refused(why="nothing is kept between two requests")] = None
    model: Ignored = None
    safety_settings: Annotated[Any, wish([], why="nothing is filtered")] = None
    labels: Ignored = None
    store: Ignored = None
    chat_template_kwargs: dict[str, Any] | None = None


class GoogleCountRequest(Wire, kw_only=True):
    """A body of countTokens."""

    contents: list[GoogleContent] | None = None
    system_instruction: GoogleContent | None = None
    tools: list[GoogleTool] | None = None
    generation_config: GenerationConfig | None = None
    generate_content_request: GoogleRequest | None = None
    model: Ignored = None


def read_google_request(
    data: Any, model: str, *, stream: bool = False, sse: bool = False
) -> GenerationRequest:
    """Read a body of generateContent.

    Args:
        model, stream, sse: From the URL; a stream without `sse` is a JSON array.
    """
    read = _in_snake_case(data)
    body = take(GoogleRequest, read)
    kinds = {kind for tool in read.get("tools") or () for kind in tool}
    if kinds and "function_declarations" not in kinds:
        raise ApiError(
            400, f"'tools' has only {', '.join(sorted(kinds))}, which this server does not have; send 'function_declarations'",
            code="unsupported_tool", param="tools",
        )  # fmt: skip
    return _read(body, model, stream, sse)


def read_google_count(data: Any, model: str) -> GenerationRequest:
    """Read a body of countTokens."""
    body = take(GoogleCountRequest, _in_snake_case(data))
    inner = body.generate_content_request or GoogleRequest(
        contents=body.contents or [], system_instruction=body.system_instruction, tools=body.tools
    )
    return _read(inner, model, False, False)


def _read(body: GoogleRequest, model: str, stream: bool, sse: bool) -> GenerationRequest:
    config = body.generation_config or GenerationConfig()
    thinking = config.thinking_config or ThinkingConfig()
    budget = thinking.thinking_budget or 0
    calling = (body.tool_config or ToolConfig()).function_calling_config or FunctionCallingConfig()
    prompt = _chat(body)
    logprobs = (config.logprobs or 0) if config.response_logprobs else None
    return GenerationRequest(
        protocol="google",
        model=model,
        prompt=prepare_messages(prompt),
        tools=_tools(body, calling),
        sampling=config.sampling(
            config.max_output_tokens, config.stop_sequences, config.candidate_count, logprobs,
            "generation_config.stop_sequences", budget if budget > 0 else None,
        ),
        effort=_effort(thinking),
        response=_response(config),
        stream=stream,
        sse=sse,
        stream_arguments=calling.stream_function_call_arguments,
        template_kwargs=body.chat_template_kwargs or {},
        prefill=prompt[-1]["role"] == "assistant",
    )  # fmt: skip


def _effort(thinking: ThinkingConfig) -> str | None:
    level, budget = (thinking.thinking_level or "").lower(), thinking.thinking_budget  # in either case
    if level and level != "thinking_level_unspecified":
        return level
    return None if budget is None or budget < 0 else "medium" if budget else "none"


def _response(config: GenerationConfig) -> Any:
    path = "generation_config.response_schema"
    schema = config.response_json_schema
    if config.response_schema is not None:
        schema = from_google(config.response_schema)
    if config.response_mime_type == "text/x.enum":
        format = FlatFormat(type="choice", choice=listed_values(schema))
    elif schema is not None:
        format = FlatFormat(type="json_schema", schema=schema)
    else:
        is_json = config.response_mime_type == "application/json"
        format = FlatFormat(type="json_object" if is_json else "text")
    return config.response(format, path)


def _chat(body: GoogleRequest) -> list[dict[str, Any]]:
    """Convert the turns to chat messages.

    Raises:
        ApiError: 400, there are no turns, or the last one is an answer that cannot be continued.
    """
    chat = _Chat()
    if instruction := _text(body.system_instruction or GoogleContent()):
        chat.messages.append({"role": "system", "content": instruction})
    for place, content in enumerate(body.contents):
        if content.role == "model":
            chat.add_answer(content.parts or (), f"contents[{place}].parts")
        else:
            chat.add_turn(content, f"contents[{place}].parts")
    chat.end_thought()
    if not body.contents:
        raise ApiError(400, "'contents' is empty; send at least one turn", param="contents")
    last = chat.messages[-1]
    if last["role"] == "assistant" and ("tool_calls" in last or not last["content"]):
        raise ApiError(
            400, "'contents' ends with a model's turn that has calls or no text, which no answer can continue; end with "
            "the calls' results, with the user's turn, or with text", code="unsupported_content", param="contents",
        )  # fmt: skip
    return chat.messages


class _Chat:
    """Collects chat messages from one turn after another."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self._calls: list[tuple[str, str]] = []  # ids and names of calls without a result
        self._thought = ""  # the thought whose signature has not arrived

    def add_answer(self, parts: Iterable[Part], path: str) -> None:
        """Add a model's turn, or continue the one before it, since clients keep each chunk of a stream as a turn."""
        if not self.messages or self.messages[-1]["role"] != "assistant":
            self.messages.append({"role": "assistant", "content": ""})
        message = self.messages[-1]
        for place, part in enumerate(parts):
            if part.thought:
                self._thought += part.text or ""
            else:
                message["content"] += part.text or ""
            if part.thought_signature:
                self._check_thought(part.thought_signature, f"{path}[{place}]")
            if part.function_call is not None:
                name, calls = part.function_call.name, message.setdefault("tool_calls", [])
                id = part.function_call.id or f"call_{len(self.messages)}_{len(calls)}"
                function = {"name": name, "arguments": part.function_call.args or {}}
                calls.append({"id": id, "type": "function", "function": function})
                self._calls.append((id, name))

    def _check_thought(self, signature: str, path: str) -> None:
        """Check a thought by its signature; unspool's contains the thought, which gemini-cli does not send back."""
        carried = signature.translate(_STANDARD)[SIGNATURE_LENGTH:]
        if not self._thought and signature.startswith(SIGNATURE_PREFIX):
            with contextlib.suppress(ValueError):
                self._thought = base64.b64decode(carried, validate=True).decode()
        self._thought = thought_of(self._thought, signature[:SIGNATURE_LENGTH], path)
        self.end_thought()

    def end_thought(self) -> None:
        """Add the collected thought to the last message."""
        if self._thought:
            message = self.messages[-1]
            message["reasoning_content"] = message.get("reasoning_content", "") + self._thought
        self._thought = ""

    def add_turn(self, content: GoogleContent, path: str) -> None:
        """Add a user's turn, the results of calls before the text."""
        self.end_thought()
        has_results = False
        for place, part in enumerate(content.parts or ()):
            if (result := part.function_response) is None:
                continue
            has_results = True
            # Results without an id are matched to the calls of the same name, in order.
            call = next((item for item in self._calls if item[0] == result.id), None) or next(
                (item for item in self._calls if item[1] == result.name), None
            )
            if call is not None:
                self._calls.remove(call)
            id = call[0] if call is not None else result.id or result.name
            text = _result(result, f"{path}[{place}].function_response.parts")
            self.messages.append({"role": "tool", "tool_call_id": id, "content": text})
        if (text := _text(content)) or not has_results:
            role = "system" if content.role == "system" else "user"
            self.messages.append({"role": role, "content": text})


# Google's SDK for Python writes bytes in URL-safe Base64.
_STANDARD = str.maketrans("-_", "+/")


def _text(content: GoogleContent) -> str:
    return "".join(part.text or "" for part in content.parts or ())


def _result(result: FunctionResponse, path: str) -> str:
    """Return a function's result as text; if the SDK has wrapped it in an object, only the wrapped value."""
    response = result.response or {}
    value = next(iter(response.values())) if response.keys() in ({"result"}, {"output"}) else response
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    for part in result.parts or ():
        kind = (part.inline_data or part.file_data or Blob()).mime_type.partition("/")[0]
        kind = kind if kind in ("image", "audio", "video") else "file"
        message = f"'{path}' has data of the kind '{kind}'; this server accepts only text"
        ignore(f"{path} ({kind})", ApiError(400, message, code="unsupported_content", param=path))
        text += f"[{kind}]"
    return text


def _tools(body: GoogleRequest, calling: FunctionCallingConfig) -> Tools:
    functions: list[dict[str, Any]] = [
        {
            "type": "function",
            "function": {
                "name": function.name,
                "description": function.description,
                "parameters": function.parameters_json_schema or from_google(function.parameters),
                # In this mode a call must fit its schema, as with `strict`.
                "strict": True if calling.mode == "VALIDATED" else None,
            },
        }
        for tool in body.tools or ()
        for function in tool.function_declarations or ()
    ]
    allowed = calling.allowed_function_names
    if allowed:
        named = {tool["function"]["name"] for tool in functions}
        if unknown := [name for name in allowed if name not in named]:
            path = "tool_config.function_calling_config.allowed_function_names"
            message = (
                f"'{path}' has '{unknown[0]}', which is not one of the tools: {', '.join(sorted(named))}"
            )
            raise ApiError(400, message, code="invalid_argument", param=path)
        functions = [tool for tool in functions if tool["function"]["name"] in allowed]
    choice = {"ANY": "required", "NONE": "none"}.get(calling.mode, "auto")
    return read_tools(functions, choice)


# Fields whose values are kept exactly as the client wrote them.
_OPAQUE = frozenset({
    "args", "response", "parameters", "parameters_json_schema", "response_schema", "response_json_schema", "labels",
    "chat_template_kwargs", "structured_outputs", "guided_json", "json_schema",
})  # fmt: skip
# Fields whose list may be replaced by a single item.
_LISTS = frozenset({"contents", "parts", "tools", "function_declarations"})


def _in_snake_case(value: Any) -> Any:
    """Convert a body: keys to snake_case, single items to lists, and whole numbers to integers."""
    if isinstance(value, list):
        return [_in_snake_case(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, dict):
        return value
    converted = {}
    for key, item in value.items():
        name = re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), key)
        read = item if name in _OPAQUE else _in_snake_case(item)
        converted[name] = [read] if name in _LISTS and isinstance(read, dict) else read
    return converted
