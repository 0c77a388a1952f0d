"""The consumer's side of a request: its deltas, which arrive from another thread."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from unspool._core import Delta, DeltaChannel, WireWriter
from unspool.core.records import require_at_least
from unspool.core.stream.channel_async import Waiter
from unspool.errors import ChannelCancelledError, ChannelTimeoutError, StreamTimeout

if TYPE_CHECKING:
    from typing import TypeGuard

    from unspool.core.stream.message import Message
    from unspool.streams.parser import Parser
    from unspool.streams.token_streamer import TokenStreamer

__all__ = ["ChannelStream", "TextGatherer"]


class ChannelStream(Iterator[Delta]):
    """The deltas of a request; iterate with `for` or `async for`.

    The request stops on `cancel()`, at the end of the `with` block, when a wait for a delta is interrupted, and when
    the stream is garbage-collected.

    Args:
        check: A function that is called after the last delta; it raises the error of the model or the host, if any.
        timeout: Seconds to wait for the next token before StreamTimeout is raised. None: no limit.
    """

    def __init__(
        self,
        channel: DeltaChannel,
        streamer: TokenStreamer | Parser,
        check: Callable[[], None] | None = None,
        timeout: float | None = None,
    ) -> None:
        self._channel, self._streamer, self._check, self._timeout = channel, streamer, check, timeout
        self._waiter = Waiter(channel)
        self._waits_since_s = time.perf_counter()
        self._token_count, self._token_s = -1, 0.0
        self._is_over = self._is_awaited = self._has_begun = False

    def __next__(self) -> Delta:
        while not self._is_over:
            try:
                delta = self._channel.get(self._remaining_s())
            except BaseException as error:
                self._interrupt(error)
            else:
                if self._takes(delta):
                    return delta
        raise StopIteration

    def __aiter__(self) -> ChannelStream:
        return self

    async def __anext__(self) -> Delta:
        if self._is_awaited:
            raise RuntimeError("another task waits for this stream; a stream has one consumer")
        self._is_awaited = True
        try:
            while not self._is_over:
                try:
                    delta = await self._channel.aget(self._remaining_s())
                except BaseException as error:
                    self._interrupt(error)
                else:
                    if self._takes(delta):
                        return delta
        finally:
            self._is_awaited = False
        raise StopAsyncIteration

    def text(self, tokens_per_text: int | None = None) -> Generator[str, None, Any]:
        """Yield the first answer's content, without empty strings; the generator returns the stream's result.

        Args:
            tokens_per_text: The number of tokens, 1 or more, whose text makes one piece. None: one piece for each
                delta. A character that is split between two tokens belongs to the second one.
        """
        return self._text(TextGatherer(tokens_per_text))  # created here to raise now, not at the first `next`

    def _text(self, gatherer: TextGatherer) -> Generator[str, None, Any]:
        with self:
            for delta in self:
                yield from gatherer.put(delta)
            yield from gatherer.end()
            return self.result

    async def atext(self, tokens_per_text: int | None = None) -> AsyncGenerator[str, None]:
        """`text` for `async for`. If the model raises, the text gathered so far is yielded before the error."""
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

    async def ready(self, patience_s: float | None = None) -> bool | None:
        """Wait until there are deltas to drain.

        The first wait also ends at the first token, even if it has made no delta.

        Args:
            patience_s: The longest wait, in seconds. None: no limit except the stream's `timeout`.

        Returns:
            True if there are deltas or the first token has arrived; False after the last delta; None after
            `patience_s`.

        Raises:
            BaseException: The exception that the model raised, after its last delta.
        """
        while not self._is_over:
            if self._channel.is_finished or self._channel.is_cancelled:
                self._end()
                break
            remaining_s = self._remaining_s()
            is_short = patience_s is not None and (remaining_s is None or patience_s < remaining_s)
            try:
                has_come = await self._waiter.wait(
                    patience_s if is_short else remaining_s, until_begin=not self._has_begun
                )
            except BaseException as error:
                self._interrupt(error)
                continue
            if not has_come and is_short:
                return None
            if not has_come:
                self._interrupt(ChannelTimeoutError())
            begins = self._channel.has_begun and not self._has_begun
            self._has_begun |= begins
            if begins or self.has_deltas:
                return True
        return False

    @property
    def has_deltas(self) -> bool:
        """Whether there are deltas to drain."""
        return len(self._channel) > 0

    def drain(self) -> list[Delta]:
        """Return the deltas that are ready, without waiting."""
        try:
            return self._channel.drain()
        except ChannelCancelledError:
            return []
        finally:
            self._note_taken()

    def drain_to(self, writer: WireWriter) -> bytes:
        """Return the bytes of the deltas that are ready, without waiting; no delta becomes a Python object."""
        try:
            return writer.drain(self._channel)
        except ChannelCancelledError:
            return b""
        finally:
            self._note_taken()

    def _note_taken(self) -> None:
        """Restart the timeout, because deltas have been taken from the channel."""
        self._waits_since_s = time.perf_counter()

    @property
    def message(self) -> Message:
        """The first answer's message; complete after the iteration has ended."""
        return self._streamer.message

    @property
    def result(self) -> Any:
        """The message so far; for a `DeltaStream`, a `StreamResult`."""
        return self.message

    def cancel(self) -> None:
        """Stop the request, from any thread; the iteration ends."""
        if not self._channel.is_finished:
            self._channel.cancel()

    def __enter__(self) -> ChannelStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: it is a running generation")

    def __del__(self) -> None:
        if hasattr(self, "_channel"):
            self.cancel()

    def _last_token_s(self) -> float:
        """The time at which the last token was noticed; it may not have made a delta yet."""
        count = self._streamer.token_count
        if count != self._token_count:
            self._token_count, self._token_s = count, time.perf_counter()
        return self._token_s

    def _remaining_s(self) -> float | None:
        """Seconds until the timeout; None: no limit."""
        if self._timeout is None:
            return None
        last_s = max(self._waits_since_s, self._last_token_s())
        return max(0.0, last_s + self._timeout - time.perf_counter())

    def _takes(self, delta: Delta | None) -> TypeGuard[Delta]:
        """Whether this is a delta; None is the end of the channel, where `check` runs and may raise."""
        if delta is None:
            self._end()
            return False
        self._note_taken()
        return True

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._waiter.close()
            if self._check is not None:
                self._check()

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
            del error  # break the cycle: its traceback references this frame, and the frame the stream


class TextGatherer:
    """Gathers the first answer's content into pieces that are not empty.

    Args:
        tokens_per_text: The number of tokens in a group. Piece k is the text that became certain with the tokens
            from `k * tokens_per_text` on. A group without text has no piece. None: every delta is a piece.

    Raises:
        ArgumentError: `tokens_per_text` is below 1.
    """

    def __init__(self, tokens_per_text: int | None = None) -> None:
        require_at_least("tokens_per_text", tokens_per_text, 1)
        self._size = tokens_per_text
        self._gathered = ""
        self._group = 0

    def put(self, delta: Delta) -> list[str]:
        """Add the next delta, of any kind, and return the pieces that it completes."""
        if delta.choice:
            return []
        text = delta.text if delta.is_content else ""
        if self._size is None:
            return [text] if text else []
        end = delta.token_span[1]
        group, pieces = max((end - 1) // self._size, self._group), []
        if group > self._group:
            pieces = self.end()
        self._group = group
        self._gathered += text
        return [*pieces, *self.end()] if text and end % self._size == 0 else pieces

    def end(self) -> list[str]:
        """Return the last piece, if there is one; call this after the last delta."""
        gathered, self._gathered = self._gathered, ""
        return [gathered] if gathered else []
