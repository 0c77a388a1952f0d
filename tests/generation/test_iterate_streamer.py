"""Any streamer, and what may go wrong in the model that feeds it."""

from __future__ import annotations

import gc
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from unspool import ArgumentError, iterate_streamer
from unspool.generation import active_workers


class QueueStreamer:
    """What transformers' TextIteratorStreamer comes to, without its text."""

    def __init__(self, fails_at_end: bool = False, fails_at: int | None = None) -> None:
        self._queue: queue.Queue[str | None] = queue.Queue()
        self._fails_at_end, self._fails_at = fails_at_end, fails_at
        self._read = 0

    def put(self, text: str) -> None:
        self._queue.put(text)

    def end(self) -> None:
        if self._fails_at_end:
            raise RuntimeError("end broke")
        self._queue.put(None)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        text = self._queue.get()
        if text is None:
            raise StopIteration
        self._read += 1
        if self._read == self._fails_at:
            raise ValueError("the text broke")
        return text


def writer(
    streamer: Any, texts: list[str], ends: bool = True, error: BaseException | None = None
) -> Callable[[], None]:
    def write() -> None:
        for text in texts:
            streamer.put(text)
        if error is not None:
            raise error
        if ends:
            streamer.end()

    return write


def test_texts_arrive_without_empty_ones() -> None:
    streamer = QueueStreamer()
    assert list(iterate_streamer(streamer, writer(streamer, ["Hel", "", "lo"]))) == ["Hel", "lo"]


def test_a_forgotten_end_is_made_up_for() -> None:
    streamer = QueueStreamer()
    begin = time.monotonic()
    assert list(iterate_streamer(streamer, writer(streamer, ["a", "b"], ends=False))) == ["a", "b"]
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("calls_end", [True, False])
def test_an_end_that_raises_ends_with_its_error(calls_end: bool) -> None:
    streamer = QueueStreamer(fails_at_end=True)
    got: list[str] = []
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="end broke"):
        got.extend(iter(iterate_streamer(streamer, writer(streamer, ["a", "b"], ends=calls_end))))
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("error", [RuntimeError("the model broke"), KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("fails_at_end", [True, False])
def test_the_models_exception_arrives_as_itself_after_its_texts(
    error: BaseException, fails_at_end: bool
) -> None:
    streamer = QueueStreamer(fails_at_end=fails_at_end)
    texts = iterate_streamer(streamer, writer(streamer, ["a", "b"], error=error))
    assert [next(texts), next(texts)] == ["a", "b"]
    with pytest.raises(type(error)) as raised:
        next(texts)
    assert raised.value is error
    frames = [frame.name for frame in raised.traceback]
    assert "write" in frames  # the worker's frame is kept
    with pytest.raises(StopIteration):
        next(texts)


def test_an_error_before_the_first_text_is_raised_at_once() -> None:
    streamer = QueueStreamer()
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="early"):
        next(iterate_streamer(streamer, writer(streamer, [], error=RuntimeError("early"))))
    assert time.monotonic() - begin < 5


def test_a_streamer_that_breaks_while_it_is_read() -> None:
    streamer = QueueStreamer(fails_at=2)
    texts = iterate_streamer(streamer, writer(streamer, ["a", "b", "c"]))
    assert next(texts) == "a"
    with pytest.raises(ValueError, match="the text broke"):
        next(texts)


def test_a_slow_reader_of_the_streamer_loses_nothing_after_the_end() -> None:
    class Slow(QueueStreamer):
        def __next__(self) -> str:
            text = super().__next__()
            time.sleep(0.06)
            return text

    streamer = Slow()
    assert list(iterate_streamer(streamer, writer(streamer, ["a", "b", "c"]))) == ["a", "b", "c"]


def test_timeout_while_the_model_is_stuck() -> None:
    streamer, cancel, go_on = QueueStreamer(), threading.Event(), threading.Event()

    def stuck() -> None:
        streamer.put("a")
        go_on.wait(10)

    texts = iterate_streamer(streamer, stuck, timeout=1.0, cancel=cancel)
    assert next(texts) == "a"
    begin = time.monotonic()
    with pytest.raises(queue.Empty) as raised:
        next(texts)
    assert time.monotonic() - begin < 8  # 1 s on a quiet machine; the model takes 10 s
    assert isinstance(raised.value, TimeoutError)
    assert cancel.is_set()
    assert active_workers() >= 1
    go_on.set()


@pytest.mark.parametrize("how", ["close", "drop"])
def test_leaving_early_stops_the_model(how: str) -> None:
    streamer, cancel = QueueStreamer(), threading.Event()
    seen = threading.Event()

    def write() -> None:
        for _ in range(1000):
            streamer.put("a")
            if cancel.wait(0.01):
                seen.set()
                return

    texts = iterate_streamer(streamer, write, cancel=cancel)
    next(texts)
    if how == "close":
        texts.close()  # type: ignore[attr-defined]
        assert list(texts) == []
    else:
        del texts
        gc.collect()
    assert seen.wait(2)


def test_inference_mode_is_the_workers_alone() -> None:
    streamer, modes = QueueStreamer(), []

    def write() -> None:
        modes.append(torch.is_inference_mode_enabled())
        streamer.put("a")
        streamer.end()

    texts = iterate_streamer(streamer, write)
    next(texts)
    assert not torch.is_inference_mode_enabled()
    assert list(texts) == []
    assert modes == [True]
    assert not torch.is_inference_mode_enabled()


def test_bad_arguments_raise_at_the_call() -> None:
    with pytest.raises(ArgumentError, match="has no put"):
        iterate_streamer(object(), lambda: None)
    with pytest.raises(ArgumentError, match="timeout is -1"):
        iterate_streamer(QueueStreamer(), lambda: None, timeout=-1)
    with pytest.raises(ArgumentError, match="cannot be called"):
        iterate_streamer(QueueStreamer(), None)  # type: ignore[arg-type]


def test_the_streamer_of_transformers() -> None:
    from transformers import TextIteratorStreamer

    class Words:
        def decode(self, ids: list[int], **_: Any) -> str:
            return "".join(f"w{id} " for id in ids)

    streamer = TextIteratorStreamer(Words())  # type: ignore[arg-type]

    def generate() -> None:
        for id in range(5):
            streamer.put(torch.tensor([id]))

    assert "".join(iterate_streamer(streamer, generate)) == "w0 w1 w2 w3 w4 "
