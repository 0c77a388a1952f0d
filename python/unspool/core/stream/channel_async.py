"""`async for` over a channel, with one event-loop wake-up per burst of deltas."""

from __future__ import annotations

import asyncio
import contextlib
import math
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from unspool.errors import ChannelTimeoutError

if TYPE_CHECKING:
    from unspool._core import Delta, DeltaChannel

__all__ = ["Iterator", "Waiter", "get"]


async def _next(channel: DeltaChannel, timeout: float | None, cancelled_is_end: bool = False) -> Delta | None:
    """Return the next delta, or None at the end.

    Several tasks may wait. They receive deltas in the order of their calls, and each wakes the next one at its end.
    """
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    is_late = timeout is not None and timeout <= 0

    def wake() -> bool:
        return _call_soon(loop, ready.set)

    def expire() -> None:
        nonlocal is_late
        is_late = True
        ready.set()

    timer = None if timeout is None else loop.call_later(timeout, expire)
    ticket = 0
    try:
        while (delta := channel._get_ready(ticket, cancelled_is_end)) is NotImplemented:
            if is_late:
                raise ChannelTimeoutError("no delta came in time; is the model still running?")
            armed = channel._arm(wake, ticket)
            if armed:  # 0: the channel is already ready
                ticket = armed
                await ready.wait()
                ready.clear()
        return cast("Delta | None", delta)
    finally:
        if timer is not None:
            timer.cancel()
        if ticket:
            channel._disarm(ticket)


def _call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> bool:
    """Schedule a callback in the loop's thread.

    Returns:
        Whether the loop is running; if not, other waiters are served first.
    """
    with contextlib.suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(callback)
    return loop.is_running()


class Waiter:
    """Waits for a channel's deltas repeatedly, in one event loop; all waits share one timer.

    It serves one consumer at a time.

    Args:
        channel: The channel.
    """

    def __init__(self, channel: DeltaChannel) -> None:
        self._channel = channel
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._end_s = math.inf

    async def wait(self, timeout: float | None = None, until_begin: bool = False) -> bool:
        """Wait until `channel.get` would return at once or, with `until_begin`, the channel has begun.

        Returns:
            True if so; False after `timeout` seconds.
        """
        channel = self._channel
        if self._is_ready(until_begin):
            return True
        self._loop = loop = asyncio.get_running_loop()
        self._end_s = math.inf if timeout is None else loop.time() + timeout
        self._set_timer()
        ticket = 0
        try:
            while loop.time() < self._end_s:
                self._ready = ready = loop.create_future()
                armed = channel._arm(self._wake, ticket, until_begin)
                if armed:  # 0: the channel is already ready
                    ticket = armed
                    await ready
                if self._is_ready(until_begin):
                    return True
            return False
        finally:
            self._ready, self._end_s = None, math.inf
            if ticket:
                channel._disarm(ticket)

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _is_ready(self, until_begin: bool) -> bool:
        return self._channel.wait(0) or (until_begin and self._channel.has_begun)

    def _set_timer(self) -> None:
        """Set the timer, unless one that goes off earlier is set: that one sets itself again."""
        assert self._loop is not None
        if self._end_s == math.inf or (self._timer is not None and self._timer.when() <= self._end_s):
            return
        self.close()
        self._timer = self._loop.call_at(self._end_s, _expire, weakref.ref(self))

    def _wake(self) -> bool:
        loop = self._loop
        assert loop is not None
        if asyncio._get_running_loop() is loop:  # the producer runs in this loop
            self._set_ready()
            return True
        return _call_soon(loop, self._set_ready)

    def _set_ready(self) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)


def _expire(waiter: weakref.ref[Waiter]) -> None:
    found = waiter()
    if found is None or found._loop is None:
        return
    found._timer = None
    if found._loop.time() >= found._end_s:
        found._set_ready()
    else:
        found._set_timer()


async def get(channel: DeltaChannel, timeout: float | None = None) -> Delta | None:
    """`channel.get` for a running event loop; concurrent calls are served in order."""
    return await _next(channel, timeout)


class Iterator:
    """The iterator of `async for delta in channel`."""

    def __init__(self, channel: DeltaChannel) -> None:
        self._channel = channel

    def __aiter__(self) -> Iterator:
        return self

    async def __anext__(self) -> Delta:
        delta = await _next(self._channel, None, cancelled_is_end=True)
        if delta is None:
            raise StopAsyncIteration
        return delta
