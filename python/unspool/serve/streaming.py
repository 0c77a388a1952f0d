"""From a generation's deltas to a client, until either of them ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import anyio
from starlette.types import Receive

if TYPE_CHECKING:
    from unspool._core import Delta
    from unspool.generation.delta_stream import DeltaStream

__all__ = ["bursts", "cancel_on_disconnect"]


async def bursts(stream: DeltaStream, patience_s: float) -> AsyncGenerator[list[Delta], None]:
    """What is ready, a list at a time; an empty list where nothing has come for `patience_s` seconds.

    The stream is closed in the end, also where the consumer leaves: its model stops.

    Raises:
        BaseException: What the model raised, after what came before it.
    """
    waiting: asyncio.Task[Delta | None] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(_next(stream))
            # Not `wait_for`: the wait for a delta must go on when patience ends.
            await asyncio.wait({waiting}, timeout=patience_s)
            if not waiting.done():
                yield []
                continue
            delta, waiting = waiting.result(), None
            if delta is None:
                return
            yield [delta, *stream.drain()]
    finally:
        if waiting is not None:
            waiting.cancel()
        await stream.aclose()


async def _next(stream: DeltaStream) -> Delta | None:
    async for delta in stream:
        return delta
    return None


async def cancel_on_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel `scope` when the client has left; the request's body has been read before."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            scope.cancel()
            return
