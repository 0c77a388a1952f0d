"""Starts the model for a request, and reports the usage of its answer; for every kind of server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unspool.core.stream.parser_options import ParsingOptions
from unspool.core.stream.stream_options import ReasoningField, StopIn
from unspool.errors import FormatError
from unspool.formats.choose_format import check_format_names
from unspool.generation.answer_request import AnswerRequest
from unspool.generation.served_model import ServedModel
from unspool.serve.http.api_errors import ApiError
from unspool.serve.http.ignored import ignore
from unspool.serve.models.check_answer import check_schemas, has_schemas
from unspool.serve.models.template_checks import check_template, check_template_kwargs, effort_kwargs

if TYPE_CHECKING:
    from unspool.generation.delta_stream import DeltaStream
    from unspool.generation.stream_result import StreamResult
    from unspool.serve.wires.generation_request import GenerationRequest

__all__ = ["AnswerDefaults", "begin_answer", "template_kwargs_of", "usage_of"]


@dataclass(frozen=True, kw_only=True)
class AnswerDefaults:
    """The server's settings for what a request leaves open, as in `ServeOptions`.

    Attributes:
        timeout_s: Seconds without a token until the model is cancelled; None: no limit.
        reasoning_field: The name of reasoning in deltas.
        stop_in: Where stop strings count.
        strict_markers: Whether markers must be tokens.
    """

    timeout_s: float | None = None
    reasoning_field: ReasoningField = "reasoning_content"
    stop_in: StopIn = "content"
    strict_markers: bool = False


def begin_answer(model: ServedModel, request: GenerationRequest, defaults: AnswerDefaults) -> DeltaStream:
    """Render the chat template and start the model. Slow: call it in a thread.

    Raises:
        ArgumentError: The model cannot fulfil the request.
        ApiError: 400, the format is unknown, or the model has no log-probabilities or no chat template.
    """
    if has_schemas(request):
        check_schemas(request)
    if request.format is not None or request.reasoning is not None:
        model = _with_format(model, request.format, request.reasoning)
    check_template(model, request.prompt, request.tools.shown)
    stream = model.begin(_answer_request(model, request, defaults))
    if request.sampling.logprobs is not None and not stream.has_logprobs:
        stream.cancel()
        raise ApiError(
            400,
            "'logprobs' is not supported: this model has no probabilities to report; leave it out",
            code="unsupported_parameter",
            param="logprobs",
        )
    return stream


def _answer_request(
    model: ServedModel, request: GenerationRequest, defaults: AnswerDefaults
) -> AnswerRequest:
    """Return the request as models read it, with the server's defaults."""
    parsing: ParsingOptions = {
        "parallel_tool_calls": request.tools.is_parallel,
        "reasoning_field": defaults.reasoning_field,
    }
    # A default leaves the model's own option in force.
    stop_in = request.stop_in or defaults.stop_in
    if stop_in != "content":
        parsing["stop_in"] = stop_in
    if defaults.strict_markers and not request.raw:  # without a format there are no markers
        parsing["strict_markers"] = True
    return AnswerRequest(
        prompt=request.prompt,
        tools=request.tools.shown,
        tool_choice=request.tools.choice,
        response=request.response,
        sampling=request.sampling,
        parsing=parsing,
        prefill=request.prefill,
        template_kwargs=template_kwargs_of(model, request),
        raw=request.raw,
        timeout_s=defaults.timeout_s if request.timeout_s is None else request.timeout_s,
        within_context=True,
    )


def template_kwargs_of(model: ServedModel, request: GenerationRequest) -> dict[str, Any]:
    """Return the chat template's variables: the request's own, and those for its reasoning fields.

    Raises:
        ArgumentError: The template does not read a variable, or the effort is unknown.
        ApiError: 400, the template has no switch for reasoning, and requests are strict.
    """
    template_kwargs: dict[str, Any] = {}
    thinking = None if request.thinking is None else "medium" if request.thinking else "none"
    for field, effort in (
        ("thinking", thinking),
        (_EFFORT_FIELDS.get(request.protocol, "reasoning_effort"), request.effort),
    ):
        if effort is None:
            continue
        variables = effort_kwargs(model, effort)
        if variables is None:
            message = f"'{field}' cannot be honoured: the model's chat template has no switch of reasoning; leave it out"
            ignore(field, ApiError(400, message, code="invalid_argument", param=field))
        template_kwargs |= variables or {}
    template_kwargs |= request.template_kwargs
    check_template_kwargs(model, template_kwargs)
    return template_kwargs


# The name of the effort's field in protocols where it is not "reasoning_effort".
_EFFORT_FIELDS = {
    "responses": "reasoning.effort",
    "messages": "output_config.effort",
    "google": "generation_config.thinking_config",
}


def _with_format(model: ServedModel, format: str | None, reasoning: str | None) -> ServedModel:
    """Return the model with its answers parsed in the formats of these names."""
    try:
        check_format_names(format, reasoning)
    except FormatError as error:
        raise ApiError(400, str(error), code="unknown_format") from None
    return model.with_format(format, reasoning)


def usage_of(result: StreamResult) -> dict[str, Any]:
    """Return the token counts and times of an answer."""
    metrics = result.metrics
    usage: dict[str, Any] = {
        "prompt_tokens": result.usage.prompt_tokens,
        "completion_tokens": result.usage.completion_tokens,
        "reasoning_tokens": sum(choice.message.token_counts.reasoning for choice in result.choices),
    }
    if result.usage.cached_tokens is not None:
        usage["cached_tokens"] = result.usage.cached_tokens
    if metrics.time_to_first_token_ms is not None:
        usage["first_token_time"] = round(metrics.time_to_first_token_ms / 1000, 6)
        usage["processing_time"] = round(metrics.time_to_first_token_ms / 1000 + metrics.decode_time_s, 6)
    if metrics.output_tokens_per_second is not None:
        usage["tokens_per_second"] = round(metrics.output_tokens_per_second, 3)
    return usage
