"""Passes a generation's deltas to a client until either of them ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import anyio
from starlette.types import Receive

if TYPE_CHECKING:
    from unspool.generation.delta_stream import DeltaStream

__all__ = ["cancel_on_disconnect", "pulses"]


async def pulses(stream: DeltaStream, patience_s: float, gather_s: float = 0.0) -> AsyncGenerator[bool, None]:
    """Yield True at the first token and when there are deltas to drain, False after `patience_s` seconds without any.

    After the first, deltas are gathered for `gather_s` seconds while the model runs.

    Raises:
        Exception: The model's exception, after the deltas before it; a RuntimeError instead of a BaseException.
    """
    is_first = True
    while True:
        try:
            is_ready = await stream.ready(patience_s)
        except (Exception, asyncio.CancelledError, GeneratorExit):
            raise
        except (
            BaseException
        ) as error:  # a model's SystemExit would end the event loop, and with it the server
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        if is_ready is None:
            yield False
            continue
        if not is_ready:
            return
        if gather_s and not is_first and stream.is_running:
            await asyncio.sleep(gather_s)
        is_first = is_first and not stream.has_deltas
        yield True


async def cancel_on_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel `scope` when the client disconnects; call it after the body is read."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            scope.cancel()
            return
