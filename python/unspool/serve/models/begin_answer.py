"""Starts the model for a request, and reports the usage of its answer; for every kind of server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unspool.errors import ArgumentError, FormatError
from unspool.formats.choose_format import check_format_names
from unspool.serve.http.api_errors import ApiError
from unspool.serve.http.ignored import ignore
from unspool.serve.models.served_model import (
    answer_options,
    check_template,
    check_template_kwargs,
    effort_kwargs,
)

if TYPE_CHECKING:
    from unspool.core.stream.stream_options import StopIn
    from unspool.generation.delta_stream import DeltaStream
    from unspool.generation.stream_result import StreamResult
    from unspool.serve.wires.generation_request import GenerationRequest

__all__ = ["begin_answer", "template_kwargs_of", "usage_of"]


def begin_answer(
    model: Any,
    request: GenerationRequest,
    *,
    timeout_s: float | None,
    reasoning_field: str,
    stop_in: StopIn = "content",
    strict_markers: bool = False,
) -> DeltaStream:
    """Render the chat template and start the model. Slow: call it in a thread.

    Args:
        model: A `ServedModel`.
        timeout_s: Seconds without a token until the model is cancelled, if the request sets none; None:
            no limit.
        reasoning_field: The name of reasoning in deltas.
        stop_in: Where stop strings count, unless the request sets it.
        strict_markers: As in `ServeOptions`.

    Raises:
        ArgumentError: The model cannot fulfil the request.
        ApiError: 400, the format is unknown, or the model has no log-probabilities or no chat template.
    """
    if request.format is not None or request.reasoning is not None:
        model = _with_format(model, request.format, request.reasoning)
    check_template(model, request.prompt, request.tools.shown)
    stop_in = request.stop_in or stop_in
    stream: DeltaStream = model.stream(
        request.prompt,
        sampling=request.sampling,
        tools=request.tools.shown,
        tool_choice=request.tools.choice,
        raw=request.raw,
        timeout=timeout_s if request.timeout_s is None else request.timeout_s,
        chat_template_kwargs=template_kwargs_of(model, request),
        parallel_tool_calls=request.tools.is_parallel,
        reasoning_field=reasoning_field,
        # Defaults are not passed: a model may not know these options.
        **({} if stop_in == "content" else {"stop_in": stop_in}),
        # Without a format there are no markers.
        **({"strict_markers": True} if strict_markers and not request.raw else {}),
        **answer_options(model, request.response, request.prefill),
        **({} if getattr(model, "context_length", None) is None else {"within_context": True}),
    )
    if request.sampling.logprobs is not None and not stream.has_logprobs:
        stream.cancel()
        raise ApiError(
            400,
            "'logprobs' is not supported: this model has no probabilities to report; leave it out",
            code="unsupported_parameter",
            param="logprobs",
        )
    return stream


def template_kwargs_of(model: Any, request: GenerationRequest) -> dict[str, Any]:
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


def _with_format(model: Any, format: str | None, reasoning: str | None) -> Any:
    """Return the model with its answers parsed in the formats of these names."""
    if not hasattr(model, "with_format"):
        raise ArgumentError("this model is read in one format; leave tool_parser and reasoning_parser out")
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
