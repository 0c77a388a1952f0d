"""A request of the Open Inference Protocol v2: one tensor, and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from unspool.core.stream.stream_options import IncompleteCalls, StopIn
from unspool.generation.prompts.load_json import load_json
from unspool.serve.http.api_errors import ApiError
from unspool.serve.wires.chat_messages import ChatMessage, read_chat
from unspool.serve.wires.generation_request import GenerationRequest
from unspool.serve.wires.response_format import NestedFormat
from unspool.serve.wires.shared_fields import Answers, Count, SamplingFields, Stop
from unspool.serve.wires.tools import ChatTool, ToolChoice, offered_in, read_tools
from unspool.serve.wires.wire import take

__all__ = ["INPUTS", "InferenceParameters", "read_inference_request"]

#: The possible names of a request's only input, with their datatypes.
INPUTS = {"prompt": ("BYTES",), "messages": ("BYTES",), "input_ids": ("INT64", "INT32")}

# Parameters that are text; all others may be JSON in a text, since gRPC has no fractions, lists or objects.
_TEXTS = ("tool_parser", "reasoning_parser", "reasoning_effort", "guided_regex", "guided_grammar", "grammar")
# Parameters that are text unless they begin like a JSON list or object.
_TEXTS_OR_JSON = ("stop", "tool_choice")


class InferenceParameters(SamplingFields, kw_only=True):
    """The parameters of a request."""

    max_tokens: Count | None = None
    n: Answers | None = None
    stop: Stop | None = None
    tools: list[ChatTool] | None = None
    tool_choice: ToolChoice = None
    parallel_tool_calls: bool = True
    raw: bool = False
    reasoning_effort: str | None = None
    tool_parser: str | None = None
    reasoning_parser: str | None = None
    stream_timeout: Annotated[float, Meta(gt=0)] | None = None
    response_format: NestedFormat | None = None
    incomplete_calls: IncompleteCalls | None = None
    stop_in: StopIn | None = None
    chat_template_kwargs: dict[str, Any] | None = None


def read_inference_request(
    model: str, inputs: Sequence[tuple[str, Any]], parameters: Mapping[str, Any]
) -> GenerationRequest:
    """Convert a request to the common form.

    Args:
        model: The model's name.
        inputs: Each tensor's name and values, nested or flat: `prompt`, one text, as str or UTF-8 bytes;
            `messages`, chat messages as JSON or as objects; or `input_ids`.
        parameters: `max_tokens`, `temperature`, `tools`, …; see docs/mlserver.md.

    Raises:
        ApiError: 400 or 422, with what to send instead.
    """
    data = {name: _parsed(name, value) for name, value in parameters.items()}
    body = take(InferenceParameters, data)
    return GenerationRequest(
        protocol="open_inference",
        model=model,
        prompt=_read_prompt(inputs),
        tools=read_tools(offered_in(data), body.tool_choice, body.parallel_tool_calls),
        sampling=body.sampling(body.max_tokens, body.stop, body.n),
        raw=body.raw,
        effort=body.reasoning_effort,
        format=body.tool_parser,
        reasoning=body.reasoning_parser,
        timeout_s=body.stream_timeout,
        response=body.response(body.response_format, "response_format"),
        template_kwargs=body.chat_template_kwargs or {},
        incomplete_calls=body.incomplete_calls,
        stop_in=body.stop_in,
    )


def _parsed(name: str, value: Any) -> Any:
    if not isinstance(value, str) or name in _TEXTS:
        return value
    if name in _TEXTS_OR_JSON and not value.startswith(("[", "{")):
        return value
    try:
        return load_json(value)
    except ValueError:
        return value  # a text after all, or rejected later for its type


def _read_prompt(inputs: Sequence[tuple[str, Any]]) -> Any:
    if len(inputs) != 1 or inputs[0][0] not in INPUTS:
        names = ", ".join(f"'{name}'" for name, _ in inputs) or "none"
        raise ApiError(400, f"the inputs are {names}; send one: 'prompt', 'messages' or 'input_ids'")
    ((name, values),) = inputs
    flat = list(_flat(values))
    if name == "input_ids":
        if not all(isinstance(id, int) and not isinstance(id, bool) for id in flat):
            raise ApiError(400, "'input_ids' holds other than integers; send token ids as INT64 or INT32")
        return flat
    if name == "messages" and flat and all(isinstance(value, Mapping) for value in flat):
        return read_chat(take(list[ChatMessage], flat, "messages"))
    if len(flat) != 1:
        raise ApiError(400, f"'{name}' has {len(flat)} elements; send one, and a request for each of several")
    text = _text(name, flat[0])
    if name == "prompt":
        return text
    try:
        messages = load_json(text)
    except ValueError as error:
        raise ApiError(400, f"'messages' is not JSON: {error}; send a list of chat messages") from None
    if not isinstance(messages, list):
        raise ApiError(400, "'messages' is not a list; send a list of chat messages")
    return read_chat(take(list[ChatMessage], messages, "messages"))


def _flat(values: Any) -> Any:
    """Return the elements of a tensor, whose data may be nested like its shape; one level is enough."""
    for value in values if isinstance(values, (list, tuple)) else [values]:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def _text(name: str, value: Any) -> str:
    if isinstance(value, (bytes, bytearray)):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise ApiError(400, f"'{name}' is not UTF-8: {error}; send a text") from None
    if not isinstance(value, str):
        raise ApiError(400, f"'{name}' holds {type(value).__name__}; send a text, as BYTES")
    return value
