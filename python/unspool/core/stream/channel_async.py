"""`async for` over a channel, with one event-loop wake-up per burst of deltas."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from unspool.errors import ChannelTimeoutError

if TYPE_CHECKING:
    from unspool._core import Delta, DeltaChannel

__all__ = ["Iterator", "get", "wait"]


async def _until(
    channel: DeltaChannel, attempt: Callable[[], Any], timeout: float | None, until_begin: bool = False
) -> Any:
    """Return the first result of `attempt` that is not NotImplemented; retry when the channel is ready.

    Several tasks may wait. The channel wakes them in the order of their calls, and a task that finds nothing
    keeps its place. A cancelled task leaves no trace.
    """
    if (result := attempt()) is not NotImplemented:
        return result
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    is_late = timeout is not None and timeout <= 0

    def set_ready() -> None:
        if not ready.done():
            ready.set_result(None)

    def wake() -> None:
        if asyncio._get_running_loop() is loop:  # a producer of this loop
            set_ready()
            return
        # The loop may be gone by the time a producer puts; then no one is waiting.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(set_ready)

    def expire() -> None:
        nonlocal is_late
        is_late = True
        set_ready()

    timer = None if timeout is None else loop.call_later(timeout, expire)
    ticket = 0
    try:
        while result is NotImplemented:
            if is_late:
                raise ChannelTimeoutError("no delta came in time; is the model still running?")
            armed = channel._arm(wake, ticket, until_begin)
            if armed:  # 0: the channel is already ready
                ticket = armed
                await ready
                ready = loop.create_future()
            result = attempt()
        return result
    finally:
        if timer is not None:
            timer.cancel()
        if ticket:
            channel._disarm(ticket)


async def wait(channel: DeltaChannel, timeout: float | None = None, until_begin: bool = False) -> None:
    """Wait until `channel.get` would return at once or, with `until_begin`, the channel has begun.

    Raises:
            ChannelTimeoutError: No delta arrived within `timeout` seconds.
    """

    def attempt() -> Any:
        return channel.wait(0) or (until_begin and channel.has_begun) or NotImplemented

    await _until(channel, attempt, timeout, until_begin)


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
