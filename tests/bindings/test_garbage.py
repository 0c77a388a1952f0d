"""Native objects in reference cycles are collected; what a channel holds dies with it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import unspool
from unspool import Delta, DeltaChannel, Parser, TokenStreamer, Vocabulary


class Canary:
    """Something to see die."""


@pytest.fixture(autouse=True)
def only_when_asked() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def failing_in_a_frame() -> weakref.ref[Any]:
    channel, canary = DeltaChannel(), Canary()
    try:
        raise RuntimeError("the model failed")
    except RuntimeError as error:
        channel.fail(error)  # its traceback leads to this frame, which holds the channel
    return weakref.ref(canary)


def failing_in_a_list() -> weakref.ref[Any]:
    channel, error, canary = DeltaChannel(), RuntimeError(), Canary()
    error.args = (channel, error, canary)
    channel.fail(error)
    return weakref.ref(canary)


def failing_and_read() -> weakref.ref[Any]:
    channel, canary = DeltaChannel(), Canary()
    try:
        raise RuntimeError("the model failed")
    except RuntimeError as error:
        channel.fail(error)
    for _ in range(3):
        with contextlib.suppress(RuntimeError):
            channel.get()
    return weakref.ref(canary)


def armed() -> weakref.ref[Any]:
    channel, canary = DeltaChannel(), Canary()
    channel._arm(lambda: (channel, canary))  # type: ignore[arg-type,return-value]
    return weakref.ref(canary)


def waiting_task() -> weakref.ref[Any]:
    channel, canary = DeltaChannel(), Canary()

    async def wait() -> Canary:
        await channel.aget()
        return canary

    loop = asyncio.new_event_loop()
    task = loop.create_task(wait())
    loop.call_later(0.01, loop.stop)
    loop.run_forever()
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.close()
    return weakref.ref(canary)


def parser_and_its_channel() -> weakref.ref[Any]:
    channel, canary = DeltaChannel(), Canary()
    streamer = TokenStreamer(Vocabulary({"a": 0}, []), "hermes", channel=channel)
    error = RuntimeError()
    error.args = (streamer, canary)
    channel.fail(error)
    return weakref.ref(canary)


def parser_with_itself() -> weakref.ref[Any]:
    parser, canary = Parser("hermes"), Canary()
    parser.itself, parser.canary = parser, canary  # type: ignore[attr-defined]
    return weakref.ref(canary)


@pytest.mark.parametrize(
    "make",
    [
        failing_in_a_frame, failing_in_a_list, failing_and_read, armed, waiting_task, parser_and_its_channel,
        parser_with_itself,
    ],
)  # fmt: skip
def test_a_cycle_is_collected(make: Callable[[], weakref.ref[Any]]) -> None:
    seen = make()
    gc.collect()
    assert seen() is None


def test_without_a_cycle_no_collector_is_needed() -> None:
    channel, error, canary = DeltaChannel(), RuntimeError(), Canary()
    error.args = (canary,)
    seen = weakref.ref(canary)
    channel.fail(error)
    channel.fail(ValueError("too late: the first one stays"))
    del error, canary
    assert seen() is not None
    with pytest.raises(RuntimeError):
        channel.get()
    del channel
    assert seen() is None


def test_a_channel_outlives_its_name() -> None:
    streamer = TokenStreamer(Vocabulary({"a": 0}, []), "hermes", channel=DeltaChannel())
    gc.collect()
    for _ in range(10):
        assert streamer.put([0]) == []
    assert any(isinstance(held, DeltaChannel) for held in gc.get_referents(streamer))


def test_a_failed_put_leaves_no_error() -> None:
    channel, canary = DeltaChannel(), Canary()
    seen = weakref.ref(canary)

    def deltas(held: Canary) -> Iterator[Delta]:
        yield Delta("content", text="x")
        raise KeyError("half way", held)

    with pytest.raises(KeyError):
        channel.put_many(deltas(canary))
    del canary
    gc.collect()
    assert seen() is None
    assert len(channel) == 1


def test_an_unset_error_after_the_collector() -> None:
    """A finalizer that runs while a cycle is torn down finds a channel that works."""
    told: list[str] = []

    class Last:
        def __init__(self, channel: DeltaChannel) -> None:
            self.channel = channel

        def __del__(self) -> None:
            try:
                self.channel.get(timeout=0)
            except (RuntimeError, unspool.UnspoolError) as error:
                told.append(str(error))

    channel = DeltaChannel()
    error = RuntimeError("first")
    error.args = (Last(channel), "x")
    channel.fail(error)
    del channel, error
    gc.collect()
    assert len(told) == 1
