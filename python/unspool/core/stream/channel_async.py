"""`async for` over a channel, with one event-loop wake-up per burst of deltas."""

from __future__ import annotations

import asyncio
import contextlib
import math
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from unspool.errors import ChannelTimeoutError

if TYPE_CHECKING:
    from unspool._core import Delta, DeltaChannel

__all__ = ["Iterator", "Waiter", "get"]


async def _until(channel: DeltaChannel, attempt: Callable[[], Any], timeout: float | None) -> Any:
    """Return the first result of `attempt` that is not NotImplemented; retry when the channel is ready.

    Several tasks may wait. The channel wakes them in the order of their calls, and a task that finds nothing
    keeps its place. A cancelled task leaves no trace.
    """
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    is_late = timeout is not None and timeout <= 0

    def wake() -> None:
        # The loop may be gone by the time a producer puts; then no one is waiting.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(ready.set)

    def expire() -> None:
        nonlocal is_late
        is_late = True
        ready.set()

    timer = None if timeout is None else loop.call_later(timeout, expire)
    ticket = 0
    try:
        while (result := attempt()) is NotImplemented:
            if is_late:
                raise ChannelTimeoutError("no delta came in time; is the model still running?")
            armed = channel._arm(wake, ticket)
            if armed:  # 0: the channel is already ready
                ticket = armed
                await ready.wait()
                ready.clear()
        return result
    finally:
        if timer is not None:
            timer.cancel()
        if ticket:
            channel._disarm(ticket)


class Waiter:
    """Waits for a channel's deltas, again and again, in one event loop; one timer serves all of its waits.

    It is for one consumer at a time.

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
            False after `timeout` seconds.
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
                ticket = channel._arm(self._wake, ticket, until_begin)
                if ticket:  # 0: the channel is already ready
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
        """A timer that goes off before is left: it sets itself anew."""
        assert self._loop is not None
        if self._end_s == math.inf or (self._timer is not None and self._timer.when() <= self._end_s):
            return
        self.close()
        self._timer = self._loop.call_at(self._end_s, _expire, weakref.ref(self))

    def _wake(self) -> None:
        loop = self._loop
        if asyncio._get_running_loop() is loop:  # a producer of this loop
            self._set_ready()
            return
        # The loop may be gone by the time a producer puts; then no one is waiting.
        with contextlib.suppress(RuntimeError):
            assert loop is not None
            loop.call_soon_threadsafe(self._set_ready)

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
    delta: Delta | None = await _until(channel, channel._get_ready, timeout)
    return delta


class Iterator:
    """The iterator of `async for delta in channel`."""

    def __init__(self, channel: DeltaChannel) -> None:
        self._channel = channel

    def __aiter__(self) -> Iterator:
        return self

    async def __anext__(self) -> Delta:
        channel = self._channel
        delta: Delta | None = await _until(channel, lambda: channel._get_ready(cancelled_is_end=True), None)
        if delta is None:
            raise StopAsyncIteration
        return delta
