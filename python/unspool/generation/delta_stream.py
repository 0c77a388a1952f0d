"""`DeltaStream`: a running generation, from the consumer's side."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from unspool._core import Delta, WireWriter
from unspool.errors import StreamError
from unspool.streams.channel_stream import ChannelStream

if TYPE_CHECKING:
    from unspool.core.stream.message import Message
    from unspool.generation.logprobs import TokenLogprob
    from unspool.generation.model_run import ModelRun
    from unspool.generation.stream_result import StreamResult, Usage
    from unspool.generation.worker import Worker

__all__ = ["DeltaStream"]

_JOIN_GRACE_S = 0.02
_LAST_STEP_S = 5.0


class DeltaStream(ChannelStream):
    """A running generation. Iterate it for deltas, with `for` or `async for`; a context manager closes it.

    Leaving the loop, `close()`, or dropping the object stops the model within two steps, without waiting for it.
    An exception of the model is raised here as the same object, after all earlier deltas.
    """

    def __init__(self, run: ModelRun[Any], worker: Worker, timeout: float | None = None) -> None:
        super().__init__(run.channel, run.answers.parsers[0], worker.raise_error, timeout)
        self._worker, self._run = worker, run
        self._written_counts: Counter[int] = Counter()  # log-probabilities that were written, by choice

    @classmethod
    def start(cls, run: ModelRun[Any], worker: Worker, timeout: float | None = None) -> DeltaStream:
        """Start a worker and return the stream of its run.

        Args:
            worker: Its job fills the run's answers.
            timeout: As in `StreamGenerator.stream`.
        """
        stream = cls(run, worker, timeout)
        run.begin_trace()
        worker.start()
        return stream

    def drain_to(self, writer: WireWriter) -> bytes:
        """Return the bytes of the deltas that are ready, without waiting.

        Without log-probabilities, no delta becomes a Python object.
        """
        return self.write_to(writer, self.drain()) if self.has_logprobs else super().drain_to(writer)

    def write_to(self, writer: WireWriter, deltas: list[Delta]) -> bytes:
        """Return the bytes of drained deltas, with the log-probabilities of their ids if there are any.

        Use one writer for all of a stream's log-probabilities.
        """
        # The worker adds the log-probabilities of an id before the id is parsed.
        for choice, entries in enumerate(self._run.answers.logprobs or ()):
            if new := entries[self._written_counts[choice] :]:
                writer.add_logprobs(choice, [entry.to_wire() for entry in new])
                self._written_counts[choice] += len(new)
        return writer.write(deltas)

    def logprobs_of(self, delta: Delta) -> tuple[TokenLogprob, ...]:
        """Return the log-probabilities of a delta's ids; empty unless `SamplingParams.logprobs` is set.

        An id that belongs to two deltas is in both.
        """
        logprobs = self._run.answers.logprobs
        return () if logprobs is None else tuple(logprobs[delta.choice][slice(*delta.token_span)])

    def cancel(self) -> None:
        """Stop the model, from any thread; the iteration ends."""
        if not self._channel.is_finished:
            self._worker.stop()
            self._worker.report_if_stuck(self._run.description)

    def close(self) -> None:
        """Stop the model and the iteration. Returns within a few ms, even if the model is stuck."""
        self._is_over = True
        self.cancel()
        self._worker.join(_JOIN_GRACE_S)

    def __enter__(self) -> DeltaStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> DeltaStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop as `close` does, without waiting for the model's step, which would block the event loop."""
        self._is_over = True
        self.cancel()

    @property
    def is_running(self) -> bool:
        """Whether the worker still runs. After `close` it finishes its current step."""
        return self._worker.is_alive

    @property
    def has_logprobs(self) -> bool:
        """Whether the request asked for log-probabilities."""
        return self._run.answers.logprobs is not None

    @property
    def held_bytes(self) -> int:
        """The number of bytes, in all answers, that the model wrote and that are not emitted yet."""
        return sum(parser.held_bytes for parser in self._run.answers.parsers)

    def message_of(self, choice: int) -> Message:
        """Return the message of one answer so far, by its index."""
        message: Message = self._run.answers.parsers[choice].message
        return message

    def recorded(self) -> list[dict[str, Any]]:
        """Return a record of each answer for `unspool replay`: the model's output and the parsed result.

        Waits for a cancelled model's last step.

        Raises:
            StreamError: The model is still running.
        """
        if not self._worker.join(_LAST_STEP_S):
            raise StreamError("the model is still in a step; an answer is recorded after its end")
        return self._run.recorded()

    @property
    def usage(self) -> Usage:
        """The token counts so far; unlike `result`, cheap."""
        return self._run.usage

    @property
    def result(self) -> StreamResult:
        """The result so far; complete, and built once, after the iteration has ended."""
        return self._run.result()

    def _note_taken(self) -> None:
        super()._note_taken()
        self._run.taken()

    def _last_token_s(self) -> float:
        return self._run.answers.last_put_s or 0.0
