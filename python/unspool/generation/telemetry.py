"""OpenTelemetry spans and metrics for generations, according to its conventions for generative AI.

They are recorded only if the program has imported OpenTelemetry, which each generation checks once; nothing here
imports it. No text of a prompt or an answer is recorded.

Source: https://github.com/open-telemetry/semantic-conventions-genai (v1.42).
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from unspool._core import __version__

if TYPE_CHECKING:
    from unspool.generation.answers import Answers
    from unspool.generation.sampling_params import SamplingParams
    from unspool.generation.stream_result import Usage

__all__ = ["Operation", "Traced", "histogram", "is_used", "model_name", "operation_of", "sent_to", "tracer"]

_PREFIX = "gen_ai.request."
#: Sampling parameters by their names in the conventions.
_SAMPLING = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_tokens": "max_tokens",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
#: The buckets that the conventions specify.
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKEN_S = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
_FIRST_S = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_TOKENS = tuple(4**power for power in range(14))
_HISTOGRAMS = {
    "gen_ai.client.operation.duration": ("s", "GenAI operation duration.", _SECONDS),
    "gen_ai.client.operation.time_to_first_chunk": ("s", "Time to receive the first chunk.", _FIRST_S),
    "gen_ai.client.token.usage": ("{token}", "Number of input and output tokens used.", _TOKENS),
    "gen_ai.server.request.duration": ("s", "Generative AI server request duration.", _SECONDS),
    "gen_ai.server.time_to_first_token": ("s", "Time to generate the first token.", _FIRST_S),
    "gen_ai.server.time_per_output_token": ("s", "Time per token after the first one.", _TOKEN_S),
}


@dataclass(frozen=True, kw_only=True)
class Traced:
    """The attributes of a request that are recorded.

    Attributes:
        operation: "chat" or "text_completion".
        provider: The software that runs the model, such as "transformers" or "vllm".
        is_elsewhere: Whether it runs in another process.
    """

    operation: str
    model: str | None
    provider: str
    sampling: SamplingParams
    is_elsewhere: bool = False

    def attributes(self) -> dict[str, Any]:
        """The attributes of the metrics."""
        made: dict[str, Any] = {
            "gen_ai.operation.name": self.operation,
            "gen_ai.provider.name": self.provider,
        }
        if self.model:
            made["gen_ai.request.model"] = self.model
        return made

    def request_attributes(self) -> dict[str, Any]:
        """The attributes of the span at its start."""
        values = {name: getattr(self.sampling, field) for field, name in _SAMPLING.items()}
        made = {_PREFIX + name: value for name, value in values.items() if value is not None}
        if self.sampling.stop:
            made[_PREFIX + "stop_sequences"] = tuple(self.sampling.stop)
        if (self.sampling.n or 1) != 1:
            made[_PREFIX + "choice.count"] = self.sampling.n
        return {**self.attributes(), _PREFIX + "stream": True, **made}


class Operation:
    """The span of a generation; begins in the caller's context and ends with the run."""

    def __init__(self, traced: Traced) -> None:
        from opentelemetry.trace import SpanKind

        self._traced = traced
        name = f"{traced.operation} {traced.model}" if traced.model else traced.operation
        kind = SpanKind.CLIENT if traced.is_elsewhere else SpanKind.INTERNAL
        self._span = tracer().start_span(name, kind=kind, attributes=traced.request_attributes())

    @classmethod
    def begin(cls, traced: Traced | None) -> Operation | None:
        """Begin a span; None if OpenTelemetry is not used."""
        return cls(traced) if traced is not None and is_used() else None

    @contextlib.contextmanager
    def as_current(self) -> Iterator[None]:
        """Make the span the parent of spans that the run begins."""
        from opentelemetry.trace import use_span

        with use_span(self._span, record_exception=False, set_status_on_exception=False):
            yield

    def end(
        self,
        answers: Answers,
        usage: Usage,
        begin_s: float,
        broken_off: str | None,
        error: BaseException | None,
    ) -> None:
        """Record how the run ended; the arguments are those of a `ModelRun`."""
        from opentelemetry.trace import Status, StatusCode

        labels, first_s = self._traced.attributes(), next(iter(answers.times_s), None)
        waited_s = None if first_s is None else first_s - begin_s
        if error is not None and broken_off != "cancelled":
            labels["error.type"] = type(error).__qualname__
            self._span.set_attribute("error.type", labels["error.type"])
            self._span.set_status(Status(StatusCode.ERROR, str(error)))
        if self._span.is_recording():
            self._span.set_attributes(_response_attributes(answers, usage, broken_off, waited_s))
        self._span.end()
        histogram("gen_ai.client.operation.duration").record(time.perf_counter() - begin_s, labels)
        if waited_s is not None:
            histogram("gen_ai.client.operation.time_to_first_chunk").record(waited_s, labels)
        labels.pop("error.type", None)
        tokens = histogram("gen_ai.client.token.usage")
        tokens.record(usage.prompt_tokens, {**labels, "gen_ai.token.type": "input"})
        tokens.record(usage.completion_tokens, {**labels, "gen_ai.token.type": "output"})


def _response_attributes(
    answers: Answers, usage: Usage, broken_off: str | None, waited_s: float | None
) -> dict[str, Any]:
    messages = [parser.message for parser in answers.parsers]
    attributes: dict[str, Any] = {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": sum(message.token_counts.reasoning for message in messages),
        "gen_ai.response.finish_reasons": tuple(
            message.finish_reason or broken_off or "" for message in messages
        ),
        "gen_ai.response.time_to_first_chunk": waited_s,
    }
    return {name: value for name, value in attributes.items() if value is not None}


def is_used() -> bool:
    """Whether the program has imported OpenTelemetry."""
    return "opentelemetry.trace" in sys.modules


def operation_of(prompt: Any, raw: bool = False) -> str:
    """Return the operation for a prompt; messages are a chat."""
    is_chat = isinstance(prompt, (list, tuple)) and bool(prompt) and isinstance(prompt[0], Mapping)
    return "chat" if is_chat and not raw else "text_completion"


def model_name(model: Any) -> str | None:
    """Return the name from which a transformers model was loaded, without folders; None: unknown."""
    path = str(getattr(getattr(model, "config", None), "_name_or_path", "") or "")
    return path.rstrip("/").rsplit("/", 1)[-1] or None


def sent_to(url: str, headers: Mapping[str, str]) -> Mapping[str, str]:
    """Record an engine's address in the current span; return the headers with those that continue the trace there."""
    if not is_used():
        return headers
    from opentelemetry import propagate, trace

    address, sent = urlsplit(url), dict(headers)
    port = address.port or (443 if address.scheme == "https" else 80)
    trace.get_current_span().set_attributes({"server.address": address.hostname or "", "server.port": port})
    propagate.inject(sent)
    return sent


@functools.cache
def tracer() -> Any:
    """Return this package's tracer, which also uses a provider that is set later."""
    from opentelemetry import trace

    return trace.get_tracer("unspool", __version__)


@functools.cache
def histogram(name: str) -> Any:
    """Return one of the conventions' histograms by its name."""
    from opentelemetry import metrics

    unit, meaning, buckets = _HISTOGRAMS[name]
    meter = metrics.get_meter("unspool", __version__)
    return meter.create_histogram(name, unit, meaning, explicit_bucket_boundaries_advisory=buckets)
