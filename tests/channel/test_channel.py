"""DeltaChannel between threads: order, bounds, every way to end, and no wait without end."""

from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from unspool import (
    ChannelCancelledError,
    ChannelClosedError,
    ChannelTimeoutError,
    Delta,
    DeltaChannel,
    UnspoolError,
)
from unspool.streams.parser import ChannelParser


def text(value: Any) -> Delta:
    return Delta("content", text=str(value))


def in_thread(work: Any) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)


def test_what_goes_in_comes_out() -> None:
    channel = DeltaChannel()
    delta = Delta("tool_call_begin", index=0, id="call_1", name="f", token_span=(2, 4), token_ids=(7, 8))
    channel.put(delta)
    channel.put_many([text("a"), text("b")])
    assert len(channel) == 3
    assert channel.get() == delta
    assert channel.drain() == [text("a"), text("b")]
    assert channel.drain() == []
    channel.close()
    channel.close()
    assert channel.get() is None
    assert channel.is_finished


def test_final_delta_and_end_are_seen_together() -> None:
    channel = DeltaChannel()
    channel.put_final(text("last"))
    assert channel.is_closed
    assert not channel.is_finished
    assert list(channel) == [text("last")]
    assert channel.is_finished


def test_many_producers_each_in_order() -> None:
    channel, each = DeltaChannel(maxsize=16), 2000
    left = threading.Semaphore(0)

    def produce(number: int) -> None:
        for i in range(each):
            channel.put(Delta("tool_call_arguments", index=number, text=str(i)))
        left.release()

    def close() -> None:
        for _ in range(4):
            left.acquire()
        channel.close()

    threads = [in_thread(lambda n=n: produce(n)) for n in range(4)]
    threads.append(in_thread(close))
    seen: dict[int, int] = dict.fromkeys(range(4), 0)
    for delta in channel:
        assert delta.index is not None
        assert int(delta.text) == seen[delta.index]
        seen[delta.index] += 1
    assert set(seen.values()) == {each}
    for thread in threads:
        thread.join(5)


def test_back_pressure_bounds() -> None:
    channel = DeltaChannel(maxsize=2)
    assert channel.maxsize == 2
    done: list[int] = []

    def produce() -> None:
        for i in range(5):
            channel.put(text(i))
            done.append(i)

    thread = in_thread(produce)
    wait_for(lambda: len(done) == 2)
    time.sleep(0.05)
    assert len(channel) == 2
    assert len(done) == 2
    assert [delta.text for delta in (channel.get(), channel.get(1)) if delta] == ["0", "1"]
    wait_for(lambda: len(done) == 4)
    time.sleep(0.05)
    assert len(channel) == 2
    channel.drain()
    thread.join(5)
    assert not thread.is_alive()


def test_the_original_exception_comes_after_what_came_before() -> None:
    channel = DeltaChannel()
    try:
        raise KeyError("the model's own")
    except KeyError as raised:
        error = raised
    channel.put(text("a"))
    channel.fail(error)
    channel.fail(ValueError("too late"))
    assert channel.get() == text("a")
    for read in (channel.get, channel.drain, lambda: next(iter(channel))):
        with pytest.raises(KeyError) as caught:
            read()
        assert caught.value is error
        assert caught.value.__traceback__ is not None
    with pytest.raises(ChannelClosedError, match="closed"):
        channel.put(text("b"))


def test_fail_takes_exceptions_only() -> None:
    with pytest.raises(TypeError, match="exception instance"):
        DeltaChannel().fail("oops")  # type: ignore[arg-type]


@pytest.mark.parametrize("end", ["close", "fail", "cancel", "put"])
def test_a_waiting_consumer_returns(end: str) -> None:
    channel = DeltaChannel()
    results: list[Any] = []

    def consume() -> None:
        try:
            results.append(channel.get())
        except Exception as error:
            results.append(type(error))

    thread = in_thread(consume)
    time.sleep(0.03)
    begin = time.monotonic()
    {
        "close": channel.close,
        "fail": lambda: channel.fail(OSError()),
        "cancel": channel.cancel,
        "put": lambda: channel.put(text("x")),
    }[end]()
    thread.join(5)
    assert time.monotonic() - begin < 4
    expected = {"close": None, "fail": OSError, "cancel": ChannelCancelledError, "put": text("x")}
    assert results == [expected[end]]


@pytest.mark.parametrize(("end", "error"), [("close", ChannelClosedError), ("cancel", ChannelCancelledError)])
def test_a_waiting_producer_returns(end: str, error: type[Exception]) -> None:
    channel = DeltaChannel(maxsize=1)
    channel.put(text("a"))
    raised: list[Exception] = []

    def produce() -> None:
        try:
            channel.put(text("b"))
        except UnspoolError as problem:
            raised.append(problem)

    thread = in_thread(produce)
    time.sleep(0.03)
    getattr(channel, end)()
    thread.join(5)
    assert [type(problem) for problem in raised] == [error]
    # What was in a closed channel can be read; a cancelled one drops it.
    assert list(channel) == ([text("a")] if end == "close" else [])


def test_timeouts() -> None:
    channel = DeltaChannel(maxsize=1)
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match="no delta came in time"):
        channel.get(timeout=0.08)
    assert 0.07 < time.monotonic() - begin < 5
    with pytest.raises(ChannelTimeoutError):
        channel.get(timeout=0)
    assert not channel.wait(0)
    channel.put(text("a"))
    assert channel.wait(0)
    with pytest.raises(ChannelTimeoutError, match="stayed full"):
        channel.put(text("b"), timeout=0.02)
    with pytest.raises(ValueError, match="negative"):
        channel.get(timeout=-1)
    with pytest.raises(ValueError, match="maxsize"):
        DeltaChannel(maxsize=-1)


def test_a_wait_does_not_block_the_interpreter() -> None:
    channel = DeltaChannel()
    thread = in_thread(channel.get)
    count = 0
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        count += 1
    assert count > 1000  # a wait that held the GIL would have stopped this loop
    channel.close()
    thread.join(5)


def test_ctrl_c_ends_a_wait() -> None:
    import _thread

    channel = DeltaChannel()
    # A shell's background job is started with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.3, _thread.interrupt_main).start()
            channel.get(timeout=10)
    finally:
        signal.signal(signal.SIGINT, before)


def test_dropped_half_way() -> None:
    for _ in range(20_000):
        channel = DeltaChannel()
        channel.put(text("x"))
        channel.fail(ValueError("never read"))
    del channel
    gc.collect()


def test_only_deltas() -> None:
    with pytest.raises(TypeError, match="Delta objects, not str"):
        DeltaChannel().put("text")  # type: ignore[arg-type]


def test_a_cancel_is_seen_while_text_is_held() -> None:
    """A marker may have begun, so nothing is sent; the producer still has to stop."""
    channel = DeltaChannel()
    parser = ChannelParser("hermes", channel=channel)
    parser.parse_chunk("<tool_c")
    assert parser.held_bytes > 0
    channel.cancel()
    with pytest.raises(ChannelCancelledError):
        parser.parse_chunk("al")
