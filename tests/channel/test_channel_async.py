"""DeltaChannel on an event loop: producers are threads, one wake-up serves a burst."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from unspool import ChannelTimeoutError, Delta, DeltaChannel


def text(value: Any) -> Delta:
    return Delta("content", text=str(value))


def test_async_for() -> None:
    channel = DeltaChannel(maxsize=8)

    def produce() -> None:
        for i in range(500):
            channel.put(text(i))
        channel.close()

    async def consume() -> list[str]:
        threading.Thread(target=produce, daemon=True).start()
        return [delta.text async for delta in channel]

    assert asyncio.run(consume()) == [str(i) for i in range(500)]


def test_one_wake_up_for_a_burst() -> None:
    channel = DeltaChannel()
    woken = 0

    async def consume() -> list[Delta]:
        nonlocal woken
        loop = asyncio.get_running_loop()
        original = loop.call_soon_threadsafe

        def counted(*args: Any, **kwargs: Any) -> Any:
            nonlocal woken
            woken += 1
            return original(*args, **kwargs)

        loop.call_soon_threadsafe = counted  # type: ignore[method-assign]
        got: list[Delta] = []

        async def read() -> None:
            async for delta in channel:
                got.append(delta)
                if len(got) == 100:
                    return

        task = asyncio.ensure_future(read())
        await asyncio.sleep(0.02)  # it waits, armed
        channel.put_many([text(i) for i in range(100)])
        await task
        return got

    assert len(asyncio.run(consume())) == 100
    assert woken == 1


def test_failure_and_end() -> None:
    error = RuntimeError("model")
    channel = DeltaChannel()
    channel.put(text("a"))
    channel.fail(error)

    async def consume() -> None:
        got = []
        with pytest.raises(RuntimeError) as caught:
            async for delta in channel:
                got.append(delta)
        assert caught.value is error
        assert got == [text("a")]

    asyncio.run(consume())
    cancelled = DeltaChannel()
    cancelled.cancel()

    async def none() -> list[Delta]:
        return [delta async for delta in cancelled]

    assert asyncio.run(none()) == []


def test_a_cancelled_task_leaves_the_channel_usable() -> None:
    channel = DeltaChannel()

    async def main() -> Delta | None:
        task = asyncio.ensure_future(channel.aget())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ChannelTimeoutError):
            await channel.aget(timeout=0.02)
        channel.put(text("later"))
        return await channel.aget(timeout=1)

    assert asyncio.run(main()) == text("later")


def test_a_producer_outlives_the_loop() -> None:
    channel = DeltaChannel()

    async def abandon() -> None:
        task = asyncio.ensure_future(channel.aget())
        await asyncio.sleep(0.01)
        del task  # left waiting; asyncio.run cancels it

    asyncio.run(abandon())
    channel.put(text("nobody is there"))
    assert len(channel) == 1


def test_the_loop_stays_free_while_waiting() -> None:
    channel = DeltaChannel()

    async def main() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        ticker = asyncio.ensure_future(tick())
        threading.Timer(1, channel.close).start()
        assert [delta async for delta in channel] == []
        ticker.cancel()
        return ticks

    begin = time.monotonic()
    assert asyncio.run(main()) > 3
    assert time.monotonic() - begin < 10
