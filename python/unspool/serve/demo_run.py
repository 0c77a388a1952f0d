"""The job of a demo model's worker, in place of `GenerationRun`'s."""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unspool.errors import ChannelCancelledError
from unspool.generation.prefill.report import PrefillReport
from unspool.generation.result import Choice, StreamResult, Usage, measure
from unspool.streams.parser import Parser
from unspool.streams.recording.answer import ParserSetup, record_answer

if TYPE_CHECKING:
    from unspool._core import DeltaChannel

__all__ = ["DemoAnswer", "DemoRun"]

_NO_PREFILL = PrefillReport(
    None, runtime_eligible=False, applied=False, activation_reason="a demo reads no prompt"
)


@dataclass
class DemoAnswer:
    """One answer: the pieces of its text, and why it ends."""

    parser: Parser
    pieces: Sequence[str]
    finish_reason: str
    stop_reason: str | None = None
    put_count: int = 0
    setup: ParserSetup | None = None


@dataclass
class _Rows:
    """The rows that a `DeltaStream` looks at while it waits."""

    streamers: list[Parser]
    times_s: array[float] = field(default_factory=lambda: array("d"))
    last_put_s: float | None = None
    logprobs: None = None  # nothing here has a probability


class DemoRun:
    """Puts a piece of each answer at a time, as a model's steps would.

    Args:
        channel: Where the parsers' deltas go.
        answers: Each with a parser of its own.
        prompt_token_count: What the usage says of the prompt.
        delay_s: How long a step takes.
    """

    def __init__(
        self, channel: DeltaChannel, answers: list[DemoAnswer], prompt_token_count: int, delay_s: float
    ) -> None:
        self._channel = channel
        self._answers = answers
        self._prompt_token_count = prompt_token_count
        self._delay_s = delay_s
        self._begin_s = time.perf_counter()
        self._is_cancelled = self._is_over = False
        self._result: StreamResult | None = None
        self.rows = _Rows([answer.parser for answer in answers])

    def work(self) -> None:
        """The worker's job."""
        try:
            for step in range(max(len(answer.pieces) for answer in self._answers)):
                self._put(step)
            for answer in self._answers:
                reason = "stop" if answer.parser.is_stopped else answer.finish_reason
                answer.parser.parse_chunk(None, None, reason)
        except ChannelCancelledError:
            self._is_cancelled = True
            raise
        finally:
            self._is_over = True

    def _put(self, step: int) -> None:
        if self._delay_s:
            time.sleep(self._delay_s)
        if self._channel.is_cancelled:  # what is held back would not notice
            raise ChannelCancelledError("the consumer has left")
        self.rows.last_put_s = time.perf_counter()
        for answer in self._answers:
            if step < len(answer.pieces) and not answer.parser.is_stopped:
                answer.put_count += 1
                answer.parser.parse_chunk(answer.pieces[step], [step])
        if step < len(self._answers[0].pieces):
            self.rows.times_s.append(self.rows.last_put_s)

    @property
    def description(self) -> str:
        """The request, for a log."""
        return f"request of a demo with {self._prompt_token_count} prompt tokens"

    @property
    def usage(self) -> Usage:
        """The token counts so far."""
        return Usage(self._prompt_token_count, sum(answer.put_count for answer in self._answers))

    def recorded(self) -> list[dict[str, Any]]:
        """As of `GenerationRun`."""
        return [
            record_answer(
                answer.setup,
                answer.setup.options.get("prompt") or "",
                answer.pieces[: answer.put_count],
                answer.parser.message,
            )
            for answer in self._answers
            if answer.setup is not None
        ]

    def result(self) -> StreamResult:
        """The result so far; after the run has ended, it is built once."""
        if self._result is not None:
            return self._result
        is_over = self._is_over
        broken_off = "cancelled" if self._is_cancelled or self._channel.is_cancelled else None
        choices = []
        for index, answer in enumerate(self._answers):
            message = answer.parser.message
            finish_reason = broken_off or message.finish_reason
            ids = tuple(range(answer.put_count))
            stop_reason = answer.parser.stop_reason or answer.stop_reason
            choices.append(Choice(index, message, finish_reason, stop_reason, ids))
        result = StreamResult(
            choices=tuple(choices),
            usage=self.usage,
            metrics=measure(self._begin_s, list(self.rows.times_s), self._prompt_token_count, 0),
            prefill=_NO_PREFILL,
            metadata=_NO_PREFILL.metadata(),
        )
        self._result = result if is_over else None
        return result
