"""The base class of a request in progress, which a `DeltaStream` reads; each backend has a subclass."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from unspool._core import DeltaChannel
from unspool.errors import ChannelCancelledError
from unspool.generation.answers import Answers
from unspool.generation.prefill.report import PrefillReport
from unspool.generation.stream_result import Choice, StreamResult, Usage, measure
from unspool.generation.telemetry import Operation, Traced
from unspool.streams.recording.recorded_answer import ParserSetup, record_answer

__all__ = ["ModelRun"]

# Raised if the consumer has left, or if the task that runs the model is cancelled.
_LEFT = (ChannelCancelledError, asyncio.CancelledError)

A = TypeVar("A", bound=Answers)


@dataclass(kw_only=True)
class ModelRun(Generic[A]):
    """One request in progress, and its result so far. The consumer may read it from another thread.

    A subclass fills the answers in a worker, within `running`.

    Attributes:
        channel: The channel that receives the parsers' deltas.
        answers: The answers so far.
        setups: The arguments with which each answer's parser was made.
        prompt_tokens: The number of ids in the prompt; 0 until it is read.
        cached_tokens: How many of them were in a prefix cache; None: unknown.
        broken_off: The finish reason if the model did not end by itself.
        traced: The attributes that OpenTelemetry records; None: nothing is recorded.
    """

    #: Why unspool's prefill has not run the prompt.
    no_prefill_reason: ClassVar[str] = "the prompt has not been read"

    channel: DeltaChannel
    answers: A
    setups: Sequence[ParserSetup]
    prompt_tokens: int = 0
    cached_tokens: int | None = None
    begin_s: float = field(default_factory=time.perf_counter)
    metadata: Mapping[str, str] = field(default_factory=dict)
    broken_off: str | None = None
    is_over: bool = False
    traced: Traced | None = None
    _operation: Operation | None = None
    _result: StreamResult | None = None

    def begin_trace(self) -> None:
        """Begin the span of this run, in the caller's context."""
        self._operation = Operation.begin(self.traced)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Record how the run ends."""
        failure: BaseException | None = None
        try:
            with contextlib.nullcontext() if self._operation is None else self._operation.as_current():
                yield
        except BaseException as error:
            failure = error
            self.broken_off = "cancelled" if isinstance(error, _LEFT) else "error"
            raise
        finally:
            self.is_over = True
            if self._operation is not None:
                self._operation.end(self.answers, self.usage, self.begin_s, self.broken_off, failure)
            del failure  # its traceback refers to this frame

    def taken(self) -> None:
        """Called when the consumer has taken deltas from the channel."""

    @property
    def name(self) -> str:
        """The model's name in the log."""
        return type(self).__name__

    @property
    def description(self) -> str:
        """The request in the log, without the prompt's text."""
        usage = self.usage
        prompt = f"{usage.prompt_tokens} prompt tokens" if usage.prompt_tokens else "its prompt not yet read"
        return f"request of {self.name} with {prompt}, {usage.completion_tokens} tokens generated"

    @property
    def usage(self) -> Usage:
        """The token counts so far; does not build the messages."""
        return Usage(self.prompt_tokens, sum(map(len, self.answers.token_ids)), self.cached_tokens)

    @property
    def report(self) -> PrefillReport:
        """How the prompt was run."""
        return PrefillReport(
            None, runtime_eligible=False, applied=False, activation_reason=self.no_prefill_reason
        )

    def prompt_of(self, row: int) -> str | Sequence[int]:  # noqa: ARG002
        """Return the prompt of an answer, for its record."""
        return ""

    def recorded(self) -> list[dict[str, Any]]:
        """Return the model's output and the parsed result as plain data. Slow; only for a run that has ended."""
        answers = self.answers
        return [
            record_answer(
                setup,
                self.prompt_of(row),
                answers.token_ids[row] if setup.vocabulary is not None else answers.texts[row],
                answers.parsers[row].message,
            )
            for row, setup in enumerate(self.setups)
        ]

    def result(self) -> StreamResult:
        """The result so far; after the run has ended, it is built once."""
        if self._result is not None:
            return self._result
        is_over, answers, report, usage = self.is_over, self.answers, self.report, self.usage
        # A complete answer stays complete, even if the consumer left before the end of the channel.
        broken_off = self.broken_off or ("cancelled" if self.channel.is_cancelled else None)
        choices = []
        for row, parser in enumerate(answers.parsers):
            message = parser.finish() if parser.is_finished else parser.message
            choices.append(
                Choice(
                    index=row,
                    message=message,
                    finish_reason=message.finish_reason or broken_off,
                    stop_reason=parser.stop_reason or answers.stop_reasons.get(row),
                    token_ids=tuple(answers.token_ids[row]),
                    logprobs=None if answers.logprobs is None else tuple(answers.logprobs[row]),
                )
            )
        result = StreamResult(
            choices=tuple(choices),
            usage=usage,
            metrics=measure(
                self.begin_s,
                list(answers.times_s),
                usage.prompt_tokens,
                self.decode_prefix_tokens,
                answers.last_put_s,
            ),
            prefill=report,
            metadata={**report.metadata(), **self.metadata},
        )
        self._result = result if is_over else None
        return result

    @property
    def decode_prefix_tokens(self) -> int:
        """How many of the prompt's tokens the first decoding step ran, after a separate prefill."""
        return 0
