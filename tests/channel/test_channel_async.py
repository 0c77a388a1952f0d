"""DeltaChannel on an event loop: producers are threads, one wake-up serves a burst."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from unspool import ChannelCancelledError, ChannelTimeoutError, Delta, DeltaChannel
from unspool.core.stream.channel_async import Waiter


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
        producer = threading.Thread(target=channel.put_many, args=([text(i) for i in range(100)],))
        producer.start()
        producer.join()
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


@pytest.mark.parametrize("count", [2, 5])
def test_several_at_once_are_served_in_order(count: int) -> None:
    async def main() -> list[Delta | None]:
        channel = DeltaChannel()
        waiting = [asyncio.ensure_future(channel.aget(60)) for _ in range(count)]
        await asyncio.sleep(0.01)
        served: list[int] = []
        for number, task in enumerate(waiting):
            task.add_done_callback(lambda _, number=number: served.append(number))
        for i in range(count):
            threading.Thread(target=channel.put, args=(text(i),)).start()
            while len(served) <= i:
                await asyncio.sleep(0.001)
        assert served == list(range(count))
        return [task.result() for task in waiting]

    assert asyncio.run(main()) == [text(i) for i in range(count)]


def test_one_that_comes_later_does_not_overtake_one_that_is_woken() -> None:
    async def main() -> None:
        channel = DeltaChannel()
        first = asyncio.ensure_future(channel.aget(60))
        await asyncio.sleep(0.01)
        channel.put(text(0))
        later = asyncio.ensure_future(channel.aget(60))  # runs before the first comes to take it
        assert await first == text(0)
        channel.put(text(1))
        assert await later == text(1)

    asyncio.run(main())


def test_one_that_is_cancelled_after_its_wake_leaves_the_delta_to_the_next() -> None:
    async def main() -> None:
        channel = DeltaChannel()
        first, second = (asyncio.ensure_future(channel.aget(60)) for _ in range(2))
        await asyncio.sleep(0.01)
        channel.put(text(0))
        first.cancel()
        assert await second == text(0)

    asyncio.run(main())


@pytest.mark.parametrize("end", ["close", "fail", "cancel"])
def test_the_end_reaches_all_that_wait(end: str) -> None:
    async def main() -> list[Any]:
        channel = DeltaChannel()
        waiting = [channel.aget(60) for _ in range(4)]
        tasks = asyncio.gather(*waiting, return_exceptions=True)
        await asyncio.sleep(0.01)
        error = ChannelTimeoutError("the model's own")  # not to be taken for a timeout of ours
        {"close": channel.close, "cancel": channel.cancel, "fail": lambda: channel.fail(error)}[end]()
        results = await tasks
        return [result is error if end == "fail" else type(result) for result in results]

    expected = {"close": type(None), "fail": True, "cancel": ChannelCancelledError}[end]
    assert asyncio.run(main()) == [expected] * 4


def test_a_burst_serves_several() -> None:
    async def main() -> None:
        channel = DeltaChannel()
        waiting = [asyncio.ensure_future(channel.aget(60)) for _ in range(3)]
        await asyncio.sleep(0.01)
        channel.put_many([text(i) for i in range(4)])
        assert await asyncio.gather(*waiting) == [text(i) for i in range(3)]
        assert await channel.aget() == text(3)

    asyncio.run(main())


def test_one_that_is_cancelled_as_it_is_woken_loses_nothing() -> None:
    async def main() -> None:
        channel = DeltaChannel()
        first, second = (asyncio.ensure_future(channel.aget(60)) for _ in range(2))
        await asyncio.sleep(0.01)
        channel.put(text("x"))
        first.cancel()
        assert await second == text("x")
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(main())


def test_a_thread_and_two_loops_share_a_channel() -> None:
    channel, lock = DeltaChannel(maxsize=4), threading.Lock()
    got: list[int] = []

    def keep(delta: Delta) -> None:
        with lock:
            got.append(int(delta.text))

    def in_thread() -> None:
        for delta in channel:
            keep(delta)

    async def in_loop() -> None:
        async def one() -> None:
            async for delta in channel:
                keep(delta)

        await asyncio.gather(one(), one())

    works = [in_thread, lambda: asyncio.run(in_loop()), lambda: asyncio.run(in_loop())]
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    channel.put_many([text(i) for i in range(600)])
    channel.close()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert sorted(got) == list(range(600))


def test_a_loop_that_died_does_not_keep_others_waiting() -> None:
    channel = DeltaChannel()
    loop = asyncio.new_event_loop()
    abandoned = loop.create_task(channel.aget())
    loop.run_until_complete(asyncio.sleep(0.01))

    async def main() -> Delta | None:
        waiting = asyncio.ensure_future(channel.aget(60))
        await asyncio.sleep(0.01)
        channel.put(text("x"))
        return await waiting

    assert asyncio.run(main()) == text("x")
    abandoned.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(abandoned)
    loop.close()


def test_timeouts_leave_nothing() -> None:
    async def main() -> None:
        channel = DeltaChannel()
        for timeout in (0, 0.001, -1):
            with pytest.raises(ChannelTimeoutError, match="no delta came in time"):
                await channel.aget(timeout)
        late = asyncio.ensure_future(channel.aget(0.001))
        patient = asyncio.ensure_future(channel.aget(60))
        with pytest.raises(ChannelTimeoutError):
            await late
        channel.put(text("x"))
        assert await patient == text("x")

    asyncio.run(main())


def test_a_producer_of_the_same_loop_wakes_without_its_pipe() -> None:
    channel = DeltaChannel()

    async def run() -> bool:
        loop = asyncio.get_running_loop()
        loop.call_soon_threadsafe = None  # type: ignore[assignment,method-assign]
        waiting = asyncio.ensure_future(Waiter(channel).wait(60))
        await asyncio.sleep(0.02)  # it waits, armed
        channel.put(text(1))
        return await waiting

    assert asyncio.run(run())


def test_one_timer_serves_waits_of_any_length() -> None:
    channel = DeltaChannel()

    async def run() -> None:
        loop, waiter = asyncio.get_running_loop(), Waiter(channel)
        made = []
        real = loop.call_at
        loop.call_at = lambda *rest, **options: made.append(rest[0]) or real(*rest, **options)  # type: ignore[method-assign,assignment,func-returns-value]
        for number in range(20):
            loop.call_soon(channel.put, text(number))
            assert await waiter.wait(60)
            channel.drain()
        assert len(made) == 1, "a wait that ends leaves the timer for the next one"
        begin = loop.time()
        assert not await waiter.wait(0.05), "a shorter wait ends in time"
        assert not await waiter.wait(0.1), "and so does one after its timer"
        assert 0.14 < loop.time() - begin < 20
        assert not await waiter.wait(0)
        waiter.close()
        assert len([timer for timer in loop._scheduled if not timer.cancelled()]) == 0  # type: ignore[attr-defined]

    asyncio.run(run())
