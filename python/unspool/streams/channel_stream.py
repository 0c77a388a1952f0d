"""The consumer's side of a request that a host runs."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator

from unspool._core import Delta, DeltaChannel
from unspool.core.stream.message import Message
from unspool.errors import ChannelCancelledError, ChannelTimeoutError, StreamTimeout
from unspool.streams.token_streamer import TokenStreamer

__all__ = ["ChannelStream"]


class ChannelStream(Iterator[Delta]):
    """The deltas of a request; iterate with `for` or `async for`.

    The request stops on `cancel()`, at the end of the `with` block, and when the stream is garbage-collected.

    Args:
        check: Called after the last delta; raises the host's error, if there was one.
        timeout: Seconds to wait for the next token before StreamTimeout is raised; None: no limit.
    """

    def __init__(
        self,
        channel: DeltaChannel,
        streamer: TokenStreamer,
        check: Callable[[], None] | None = None,
        timeout: float | None = None,
    ) -> None:
        self._streamer = streamer
        self._check = check
        self._timeout = timeout
        self._channel = channel

    def __next__(self) -> Delta:
        while True:
            count = self._count()
            try:
                return self._take(self._channel.get(self._timeout), StopIteration)
            except ChannelCancelledError:
                raise StopIteration from None
            except ChannelTimeoutError:
                self._give_up(count)

    async def __aiter__(self) -> AsyncIterator[Delta]:
        with contextlib.suppress(StopAsyncIteration):
            while True:
                yield await self._next_of_loop()

    async def _next_of_loop(self) -> Delta:
        while True:
            count = self._count()
            try:
                return self._take(await self._channel.aget(self._timeout), StopAsyncIteration)
            except ChannelCancelledError:
                raise StopAsyncIteration from None
            except ChannelTimeoutError:
                self._give_up(count)

    def _take(self, delta: Delta | None, end: type[Exception]) -> Delta:
        if delta is None:
            if self._check is not None:
                self._check()
            raise end
        return delta

    def _count(self) -> int | None:
        return None if self._timeout is None else self._streamer.token_count

    def _give_up(self, count: int | None) -> None:
        """Raise, unless tokens arrived that no delta shows yet."""
        if self._count() == count:
            self.cancel()
            raise StreamTimeout(
                f"the model gave nothing for {self._timeout:g} s; it is asked to stop"
            ) from None

    @property
    def message(self) -> Message:
        """The message; complete when the iteration has ended."""
        return self._streamer.message

    def cancel(self) -> None:
        """Stop the request, from any thread; the iteration then ends."""
        if not self._channel.is_finished:
            self._channel.cancel()

    def __enter__(self) -> ChannelStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def __del__(self) -> None:
        if hasattr(self, "_channel"):
            self.cancel()
