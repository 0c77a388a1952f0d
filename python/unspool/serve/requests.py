"""A request for an answer, in the common form of all protocols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from unspool.errors import ArgumentError
from unspool.generation.logprobs import MAX_TOP_LOGPROBS
from unspool.generation.sampling_params import SamplingParams
from unspool.serve.api_errors import ApiError
from unspool.serve.fields import Fields, unfit
from unspool.serve.load_json import load_json
from unspool.stream_options import IncompleteCalls, StopIn

__all__ = [
    "GenerationRequest",
    "Tools",
    "read_messages",
    "read_parser_options",
    "read_sampling",
    "read_stop",
    "read_tools",
    "read_top_logprobs",
]

Protocol = Literal["chat_completions", "completions", "responses", "messages", "open_inference"]


@dataclass(frozen=True, kw_only=True)
class Tools:
    """The tools that a request offers.

    Attributes:
        offered: In the shape of chat completions; None: there are none.
        choice: "auto", "none", "required", or a tool's name.
        is_parallel: Whether an answer may hold more than one call.
    """

    offered: list[dict[str, Any]] | None = None
    choice: str = "auto"
    is_parallel: bool = True

    @property
    def must_call(self) -> bool:
        """Whether an answer without a call is an error."""
        return self.choice not in ("auto", "none")

    @property
    def shown(self) -> list[dict[str, Any]] | None:
        """The tools that may be called, for the chat template."""
        if self.choice == "none":
            return None
        if self.choice in ("auto", "required") or self.offered is None:
            return self.offered
        return [tool for tool in self.offered if tool["function"]["name"] == self.choice]


@dataclass(frozen=True, kw_only=True)
class GenerationRequest:
    """One request: what to generate, and how to send it.

    Attributes:
        model: The model's name in the request.
        prompt: Chat messages, text, or token ids.
        raw: Reasoning and calls are content.
        effort: The reasoning effort; None: the model's default.
        thinking: Reasoning on or off; None: not set.
        template_kwargs: Variables of the chat template.
        stream: Send events, not a body.
        include_usage: Whether a stream of chat chunks ends with the usage.
        metadata: The request's metadata.
        echo: Fields of the request that the response repeats.
        format, reasoning: The formats that the answer is to be read in; None: the model's own.
        timeout_s: Seconds without a token until the model is cancelled; None: the server's option.
        incomplete_calls, stop_in: As of `Parser`; None: the server's option.
        response_schema: The JSON Schema of the content; None: free text.
    """

    protocol: Protocol
    model: str
    prompt: Any
    tools: Tools = field(default_factory=Tools)
    sampling: SamplingParams = field(default_factory=SamplingParams)
    raw: bool = False
    effort: str | None = None
    thinking: bool | None = None
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = False
    include_usage: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    echo: Mapping[str, Any] | None = None
    format: str | None = None
    reasoning: str | None = None
    timeout_s: float | None = None
    incomplete_calls: IncompleteCalls | None = None
    stop_in: StopIn | None = None
    response_schema: Mapping[str, Any] | None = None


# Below it, scores that are divided by it overflow.
_LEAST_TEMPERATURE = 1e-6

# OpenAI's limit; all answers of a request are generated at once.
_MAX_N = 128


def read_sampling(
    fields: Fields,
    max_tokens: int | None,
    stop: tuple[str, ...] = (),
    n: int | None = None,
    logprobs: int | None = None,
) -> SamplingParams:
    """The sampling fields, with the extensions of vLLM and others."""
    if n is not None and n > _MAX_N:
        raise unfit("n", f"'n' is {n}; it must be at most {_MAX_N}")
    temperature = fields.number("temperature")
    if temperature is not None and 0 < temperature < _LEAST_TEMPERATURE:
        raise unfit(
            "temperature",
            f"'temperature' is {temperature}; send 0 for greedy decoding, or at least {_LEAST_TEMPERATURE}",
        )
    values = {
        "temperature": temperature,
        "top_p": fields.number("top_p"),
        "top_k": fields.integer("top_k"),
        "min_p": fields.number("min_p"),
        "presence_penalty": fields.number("presence_penalty"),
        "frequency_penalty": fields.number("frequency_penalty"),
        "repetition_penalty": fields.number("repetition_penalty"),
        "seed": fields.integer("seed"),
    }
    if values["top_k"] == -1:  # vLLM's "off"
        values["top_k"] = 0
    try:
        return SamplingParams(**values, max_tokens=max_tokens, n=n, stop=stop, logprobs=logprobs)  # type: ignore[arg-type]
    except ArgumentError as error:
        name = str(error).split("[", 1)[0].split(" ", 1)[0]
        raise ApiError(422, str(error), code="invalid_request", param=name) from None


def read_top_logprobs(fields: Fields, is_wanted: bool, wanted_by: str) -> int | None:
    """`top_logprobs`: the number of most likely tokens to list; None: no log-probabilities.

    Args:
        is_wanted: Whether the request has log-probabilities.
        wanted_by: The field that requests them, for the error.
    """
    count = fields.integer("top_logprobs", least=0)
    if count and not is_wanted:
        raise ApiError(
            400, f"'top_logprobs' is {count}, but log-probabilities are off; send {wanted_by} too",
            code="invalid_argument", param="top_logprobs",
        )  # fmt: skip
    if count is not None and count > MAX_TOP_LOGPROBS:
        raise unfit("top_logprobs", f"'top_logprobs' is {count}; it must be at most {MAX_TOP_LOGPROBS}")
    return (count or 0) if is_wanted else None


def read_parser_options(fields: Fields) -> dict[str, Any]:
    """`incomplete_calls` and `stop_in`, extensions of this server."""
    options: dict[str, Any] = {}
    for name, choices in (("incomplete_calls", IncompleteCalls), ("stop_in", StopIn)):
        value = options[name] = fields.text(name)
        if value is not None and value not in get_args(choices):
            allowed = " or ".join(f"'{choice}'" for choice in get_args(choices))
            raise unfit(name, f"'{name}' is '{value}'; send {allowed}")
    return options


def read_stream_options(fields: Fields, stream: bool) -> bool:
    """`stream_options`: whether the usage is sent."""
    options = fields.inner("stream_options")
    include_usage = options.flag("include_usage")
    options.harmless("include_obfuscation")
    options.end()
    return include_usage and stream


# The search keeps all their prefixes.
_MAX_STOP_BYTES = 1024


def read_stop(fields: Fields, name: str = "stop") -> tuple[str, ...]:
    """A text, or a list of texts."""
    value = fields.any(name)
    texts = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise unfit(name, f"'{name}' must be a text, or a list of texts, none of them empty")
    sizes = [len(text.encode()) for text in texts]
    if max(sizes, default=0) > _MAX_STOP_BYTES or sum(sizes) > 16 * _MAX_STOP_BYTES:
        raise unfit(
            name,
            f"'{name}' is too long; a text may have {_MAX_STOP_BYTES} bytes, all of them {16 * _MAX_STOP_BYTES}",
        )
    return tuple(texts)


def read_tools(tools: list[Any] | None, choice: Any, is_parallel: bool | None) -> Tools:
    """Tools and the choice among them, in the shape of chat completions."""
    offered = [_read_tool(tool, f"tools[{index}]") for index, tool in enumerate(tools or ())]
    names = [tool["function"]["name"] for tool in offered]
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            raise ApiError(
                400, f"'tools[{index}]' is named '{name}', as another tool is; give each a name of its own",
                param=f"tools[{index}]",
            )  # fmt: skip
        seen.add(name)
    chosen = _read_choice(choice)
    if not offered and chosen not in ("auto", "none"):
        raise ApiError(
            400, f"tool_choice is '{chosen}', and there are no tools; send 'tools'", param="tool_choice"
        )
    if chosen not in ("auto", "none", "required", *names):
        raise ApiError(
            400, f"tool_choice names '{chosen}', which is not one of the tools: {', '.join(names)}",
            param="tool_choice",
        )  # fmt: skip
    return Tools(offered=offered or None, choice=chosen, is_parallel=is_parallel is not False)


def _read_tool(tool: Any, path: str) -> dict[str, Any]:
    fields = Fields(tool, path)
    kind = fields.text("type", "function")
    if kind != "function":
        raise ApiError(
            400, f"'{path}' is a tool of type '{kind}', which this server does not have; use 'function'",
            code="unsupported_tool", param=path,
        )  # fmt: skip
    function = fields.inner("function")
    name = function.require("name", function.text("name"))
    function.mapping("parameters")
    function.text("description")
    function.flag("strict")
    function.end()
    fields.harmless("cache_control")
    fields.end()
    if not name:
        raise unfit(path, f"'{path}' has an empty name")
    said = {key: value for key, value in tool["function"].items() if value is not None}
    return {"type": "function", "function": said}


def _read_choice(choice: Any) -> str:
    if choice is None:
        return "auto"
    if choice in ("auto", "none", "required"):
        return str(choice)
    if isinstance(choice, Mapping) and choice.get("type") == "function":
        inner = choice.get("function")
        name = inner.get("name") if isinstance(inner, Mapping) else choice.get("name")
        if name in ("auto", "none", "required"):
            raise ApiError(
                400, f"tool_choice names the tool '{name}', which is a choice itself; rename the tool",
                param="tool_choice",
            )  # fmt: skip
        if isinstance(name, str) and name:
            return name
    raise unfit(
        "tool_choice",
        "'tool_choice' must be 'auto', 'none', 'required' or "
        '{"type": "function", "function": {"name": ...}}',
    )


_ROLES = ("system", "developer", "user", "assistant", "tool")


def read_messages(messages: list[Any], path: str = "messages") -> list[dict[str, Any]]:
    """Chat messages as chat templates read them: contents as text, arguments as objects.

    Raises:
        ApiError: 400 for no messages, or media; 422 for an invalid message.
    """
    if not messages:
        raise ApiError(400, f"'{path}' is empty; send at least one message", param=path)
    return [_read_message(message, f"{path}[{index}]") for index, message in enumerate(messages)]


def _read_message(message: Any, path: str) -> dict[str, Any]:
    fields = Fields(message, path)
    role = fields.require("role", fields.text("role"))
    if role not in _ROLES:
        raise unfit(path, f"'{path}.role' is '{role}'; use {', '.join(_ROLES)}")
    read: dict[str, Any] = {"role": "system" if role == "developer" else role}
    content = read_content(fields.any("content"), f"{path}.content")
    name = fields.text("name")
    if name is not None:
        read["name"] = name
    if role == "assistant":
        reasoning = fields.text("reasoning_content") or fields.text("reasoning")
        if reasoning:
            read["reasoning_content"] = reasoning
        calls = fields.items("tool_calls") or []
        if calls:
            read["tool_calls"] = [
                _read_call(call, f"{path}.tool_calls[{index}]") for index, call in enumerate(calls)
            ]
        refusal = fields.text("refusal")
        content = content if content is not None else refusal
        fields.only("audio", why="audio is not supported")
        fields.only("function_call", why="tool_calls have replaced it")
        fields.harmless("reasoning", "annotations")
    elif content is None:
        raise unfit(f"{path}.content", f"'{path}.content' is missing; send a text")
    if role == "tool":
        read["tool_call_id"] = fields.require("tool_call_id", fields.text("tool_call_id"))
    fields.end()
    read["content"] = content or ""
    return read


def read_content(content: Any, path: str) -> str | None:
    """A content's text: its parts are joined with nothing between."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise unfit(path, f"'{path}' must be a text, or a list of parts of text")
    texts = []
    for index, part in enumerate(content):
        place = f"{path}[{index}]"
        fields = Fields(part, place)
        kind = fields.text("type", "text")
        if kind not in ("text", "input_text", "output_text", "refusal"):
            raise ApiError(
                400, f"'{place}' is of type '{kind}'; this server accepts only text",
                code="unsupported_content", param=place,
            )  # fmt: skip
        key = "refusal" if kind == "refusal" else "text"
        texts.append(fields.require(key, fields.text(key)))
        fields.harmless("annotations", "logprobs", "cache_control", "citations", "prompt_cache_breakpoint")
        fields.end()
    return "".join(texts)


def _read_call(call: Any, path: str) -> dict[str, Any]:
    fields = Fields(call, path)
    fields.only("type", "function", why="calls are to functions")
    function = fields.inner("function")
    name = function.require("name", function.text("name"))
    arguments = parse_arguments(function.text("arguments") or "{}")
    id = fields.require("id", fields.text("id"))
    # SDKs send back further fields of an answer, such as `parsed_arguments` and `index`.
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def parse_arguments(text: str) -> Any:
    """Arguments as an object, which templates write as JSON; other text stays text."""
    try:
        value = load_json(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text
