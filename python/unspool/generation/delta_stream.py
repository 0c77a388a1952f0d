"""The consumer's side of a running generation."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from typing import TYPE_CHECKING, NoReturn

from unspool._core import Delta, DeltaChannel, WireWriter
from unspool.core.stream.channel_async import wait
from unspool.errors import ChannelCancelledError, ChannelTimeoutError, StreamTimeout
from unspool.generation.text_gatherer import TextGatherer

if TYPE_CHECKING:
    from unspool.core.stream.message import Message
    from unspool.generation.logprobs import TokenLogprob
    from unspool.generation.result import StreamResult
    from unspool.generation.run import GenerationRun
    from unspool.generation.worker import GenerationWorker

__all__ = ["DeltaStream"]

_JOIN_GRACE_S = 0.02


class DeltaStream(Iterator[Delta]):
    """A running generation. Iterate it for deltas, with `for` or `async for`; a context manager closes it.

    Leaving the loop, `close()`, or dropping the object stops the model within two steps, without a wait.
    An exception of the model is raised here as the same object, after all earlier deltas.
    """

    def __init__(
        self,
        channel: DeltaChannel,
        worker: GenerationWorker,
        run: GenerationRun,
        timeout: float | None = None,
    ) -> None:
        self._channel = channel
        self._worker = worker
        self._run = run
        self._timeout = timeout
        self._waits_since_s = time.perf_counter()
        self._is_over = False
        self._is_awaited = False
        self._written_counts: dict[int, int] = {}  # of log-probabilities, by choice

    def __iter__(self) -> DeltaStream:
        return self

    def __next__(self) -> Delta:
        while not self._is_over:
            try:
                delta = self._channel.get(self._remaining_s())
            except BaseException as error:
                self._interrupt(error)
            else:
                return self._take(delta, StopIteration)
        raise StopIteration

    def __aiter__(self) -> DeltaStream:
        return self

    async def __anext__(self) -> Delta:
        if self._is_awaited:
            raise RuntimeError("another task waits for this stream; a stream has one consumer")
        self._is_awaited = True
        try:
            return await self._next_of_loop()
        finally:
            self._is_awaited = False

    async def _next_of_loop(self) -> Delta:
        while not self._is_over:
            try:
                delta = await self._channel.aget(self._remaining_s())
            except BaseException as error:
                self._interrupt(error)
            else:
                return self._take(delta, StopAsyncIteration)
        raise StopAsyncIteration

    def text(self, tokens_per_text: int | None = None) -> Generator[str, None, StreamResult]:
        """The first answer's content, without empty strings; returns the `StreamResult`.

        Args:
            tokens_per_text: Gather the text of this many tokens, 1 or more; None: one piece for each delta. A
                character that is cut between two tokens belongs to the second one.
        """
        gatherer = TextGatherer(tokens_per_text)  # raises now, not at the first `next`
        return self._text(gatherer)

    def _text(self, gatherer: TextGatherer) -> Generator[str, None, StreamResult]:
        with self:
            for delta in self:
                yield from gatherer.put(delta)
            yield from gatherer.end()
            return self.result

    async def atext(self, tokens_per_text: int | None = None) -> AsyncGenerator[str, None]:
        """`text`, for `async for`. Text that is gathered when the model raises is yielded first."""
        gatherer = TextGatherer(tokens_per_text)
        try:
            async for delta in self:
                for text in gatherer.put(delta):
                    yield text
        except Exception:
            for text in gatherer.end():
                yield text
            raise
        for text in gatherer.end():
            yield text

    async def ready(self) -> bool:
        """Wait until there are deltas to drain; returns False after the last one.

        Raises:
            BaseException: What the model raised, after its last delta.
        """
        while not self._is_over:
            if self._channel.is_finished or self._channel.is_cancelled:
                self._end()
                break
            try:
                await wait(self._channel, self._remaining_s())
            except BaseException as error:
                self._interrupt(error)
            if len(self._channel):
                return True
        return False

    def drain(self) -> list[Delta]:
        """Return the deltas that are ready, without waiting."""
        self._waits_since_s = time.perf_counter()
        with contextlib.suppress(ChannelCancelledError):
            return self._channel.drain()
        return []

    def drain_to(self, writer: WireWriter) -> bytes:
        """Return the bytes of the deltas that are ready, without waiting.

        Without log-probabilities, no delta becomes a Python object.
        """
        if self.has_logprobs:
            return self.write_to(writer, self.drain())
        self._waits_since_s = time.perf_counter()
        with contextlib.suppress(ChannelCancelledError):
            return writer.drain(self._channel)
        return b""

    def write_to(self, writer: WireWriter, deltas: list[Delta]) -> bytes:
        """Return the bytes of drained deltas, with the log-probabilities of their ids if there are any.

        Use one writer for all of a stream's log-probabilities.
        """
        # The worker adds the log-probabilities of an id before it puts the id.
        for choice, entries in enumerate(self._run.rows.logprobs or ()):
            new = entries[self._written_counts.get(choice, 0) :]
            if new:
                writer.add_logprobs(choice, [_wire_entry(entry) for entry in new])
                self._written_counts[choice] = self._written_counts.get(choice, 0) + len(new)
        return writer.write(deltas)

    def logprobs_of(self, delta: Delta) -> tuple[TokenLogprob, ...]:
        """The log-probabilities of a delta's ids; empty unless `SamplingParams.logprobs` is set.

        An id that belongs to two deltas is in both.
        """
        logprobs = self._run.rows.logprobs
        return () if logprobs is None else tuple(logprobs[delta.choice][slice(*delta.token_span)])

    def cancel(self) -> None:
        """Stop the model, from any thread; the iteration ends."""
        if not self._channel.is_finished:
            self._channel.cancel()
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
        self._is_over = True
        self.cancel()  # without the wait, which would block the event loop

    async def aclose(self) -> None:
        """`close`, without waiting for the model's step."""
        await self.__aexit__()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a DeltaStream cannot be copied or pickled: it is a running generation")

    def __del__(self) -> None:
        if hasattr(self, "_run"):
            self.cancel()

    @property
    def is_running(self) -> bool:
        """Whether the worker still runs. After `close` it finishes its current step."""
        return self._worker.is_alive

    @property
    def has_logprobs(self) -> bool:
        """Whether the request asked for log-probabilities."""
        return self._run.rows.logprobs is not None

    @property
    def held_bytes(self) -> int:
        """Bytes that the model wrote and no delta has emitted yet, of all answers."""
        return sum(streamer.held_bytes for streamer in self._run.rows.streamers)

    @property
    def message(self) -> Message:
        """The first answer's message; complete after the iteration has ended."""
        return self._run.rows.streamers[0].message

    @property
    def result(self) -> StreamResult:
        """The result so far; complete after the iteration has ended."""
        return self._run.result()

    def _remaining_s(self) -> float | None:
        """Seconds to wait; tokens that are held back reset the timeout."""
        if self._timeout is None:
            return None
        last = max(self._waits_since_s, self._run.rows.last_put_s or 0.0)
        return max(0.0, last + self._timeout - time.perf_counter())

    def _take(self, delta: Delta | None, stop: type[Exception]) -> Delta:
        """Return the channel's delta. At its end raise `stop`, or the model's exception unless the consumer left."""
        if delta is not None:
            self._waits_since_s = time.perf_counter()
            return delta
        self._end()
        raise stop

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._worker.raise_error()

    def _interrupt(self, error: BaseException) -> None:
        """Handle an interrupted wait: continue while tokens arrive, and end silently if the consumer left."""
        if isinstance(error, ChannelTimeoutError):
            if self._remaining_s() != 0.0:
                return
            error = StreamTimeout(
                f"the model gave nothing for {self._timeout:g} s; it was asked to stop, and ends after its current step"
            )
            error.__suppress_context__ = True
        self._is_over = True
        self.cancel()
        try:
            if not isinstance(error, ChannelCancelledError):
                raise error
        finally:
            del error  # its traceback has this frame, which has the stream


def _wire_entry(entry: TokenLogprob) -> tuple[bytes, float, list[tuple[bytes, float]]]:
    return entry.token, entry.logprob, [(rival.token, rival.logprob) for rival in entry.top]
