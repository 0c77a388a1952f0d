"""`async for` over a channel: one wake-up of the event loop for a burst of deltas."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from unspool.errors import ChannelCancelledError, ChannelTimeoutError

if TYPE_CHECKING:
    from unspool._core import Delta, DeltaChannel

__all__ = ["Iterator", "get", "wait"]


async def _until_ready(channel: DeltaChannel) -> None:
    """Return when `channel.get` would return at once; leaves nothing behind when cancelled."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()

    def wake() -> None:
        # The loop may be gone by the time a producer puts; then nobody is waiting.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(ready.set)

    if not channel._arm(wake):
        return
    try:
        await ready.wait()
    finally:
        channel._disarm()


async def wait(channel: DeltaChannel, timeout: float | None = None) -> None:
    """Wait until `channel.get` would return at once.

    Raises:
        ChannelTimeoutError: Nothing came in `timeout` seconds.
    """
    try:
        await asyncio.wait_for(_until_ready(channel), timeout)
    except asyncio.TimeoutError:
        raise ChannelTimeoutError("no delta came in time; is the model still running?") from None


async def get(channel: DeltaChannel, timeout: float | None = None) -> Delta | None:
    """`channel.get` for a running event loop."""
    await wait(channel, timeout)
    return channel.get(timeout=0)


class Iterator:
    """What `async for delta in channel` runs."""

    def __init__(self, channel: DeltaChannel) -> None:
        self._channel = channel

    def __aiter__(self) -> Iterator:
        return self

    async def __anext__(self) -> Delta:
        await _until_ready(self._channel)
        try:
            delta = self._channel.get(timeout=0)
        except ChannelCancelledError:
            raise StopAsyncIteration from None
        if delta is None:
            raise StopAsyncIteration
        return delta
