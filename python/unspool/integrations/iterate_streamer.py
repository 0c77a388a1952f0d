"""Iterates any streamer that has `put`, `end` and an iterator, while a worker runs the model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from unspool._core import Delta, DeltaChannel
from unspool.errors import (
    ArgumentError,
    ChannelCancelledError,
    ChannelClosedError,
    ChannelTimeoutError,
    StreamTimeout,
)
from unspool.generation.worker import GenerationWorker, check_timeout

__all__ = ["iterate_streamer"]

# Seconds for which a streamer may be silent after `generate_fn` returns: the first limit until `end()` is called, the
# second, if `end()` fails, until the streamer is abandoned.
_SILENCE_S = 0.03
_LAST_SILENCE_S = 0.25


def iterate_streamer(
    streamer: Any,
    generate_fn: Callable[[], Any],
    *,
    timeout: float | None = None,
    cancel: threading.Event | None = None,
    join_grace: float = 0.02,
) -> Iterator[str]:
    """Run `generate_fn` in a worker, and iterate the texts of its streamer here, without empty ones.

    The iteration always ends: also if `generate_fn` returns without `streamer.end()`, if `end()` raises,
    if the streamer's own iterator blocks forever, and at a timeout. An exception of `generate_fn` or
    of the streamer is raised unchanged, after the texts before it.

    Args:
        streamer: An object with `put` and `end` that iterates texts, such as transformers' `TextIteratorStreamer`.
        generate_fn: Runs the model with this streamer; called in the worker, under inference mode.
        timeout: Seconds without a text until StreamTimeout is raised.
        cancel: An event that is set when the consumer leaves or at a timeout; `generate_fn` should check it.
        join_grace: Maximum number of seconds that leaving waits for the worker.

    Raises:
        ArgumentError: An argument is invalid. Raised at the call, before anything runs.
    """
    for name in ("put", "end", "__iter__"):
        if not callable(getattr(streamer, name, None)):
            raise ArgumentError(f"the streamer has no {name}; it needs put, end and iteration")
    check_timeout(timeout)
    if not callable(generate_fn):
        raise ArgumentError("generate_fn cannot be called; pass a function without arguments")
    return _StreamerTexts(streamer, generate_fn, timeout, cancel or threading.Event(), join_grace)


class _StreamerTexts(Iterator[str]):
    """The texts of a streamer. The worker runs the model; a second thread, the pump, reads the streamer, which may
    block."""

    def __init__(
        self,
        streamer: Any,
        generate_fn: Callable[[], Any],
        timeout: float | None,
        cancel: threading.Event,
        join_grace: float,
    ) -> None:
        self._channel = DeltaChannel()
        self._timeout, self._cancel, self._join_grace = timeout, cancel, join_grace
        self._is_over = False
        pump = _Pump(streamer, self._channel)
        channel = self._channel

        def stop() -> None:
            cancel.set()
            channel.cancel()

        self._worker = GenerationWorker(channel, lambda: _run(generate_fn, streamer, pump), stop)
        pump.start()
        self._worker.start()

    def __iter__(self) -> _StreamerTexts:
        return self

    def __next__(self) -> str:
        if self._is_over:
            raise StopIteration
        try:
            delta = self._channel.get(self._timeout)
        except ChannelTimeoutError:
            self._leave()
            raise StreamTimeout(
                f"the streamer gave nothing for {self._timeout:g} s; generate_fn is asked to stop"
            ) from None
        except BaseException:
            self._leave()
            raise
        if delta is None:
            self._is_over = True
            self._worker.raise_error()
            raise StopIteration
        return delta.text

    def close(self) -> None:
        """Ask `generate_fn` to stop, and end the iteration."""
        self._leave()
        self._worker.join(self._join_grace)

    def __del__(self) -> None:
        if hasattr(self, "_worker"):
            self._leave()

    def _leave(self) -> None:
        self._is_over = True
        if not self._channel.is_finished:
            self._cancel.set()
            self._channel.cancel()


def _run(generate_fn: Callable[[], Any], streamer: Any, pump: _Pump) -> None:
    """The worker's job: run the model, then end the streamer, if `generate_fn` has not."""
    try:
        generate_fn()
    finally:
        if not pump.has_ended(_SILENCE_S):
            try:
                streamer.end()
            except Exception as error:
                pump.error = pump.error or error
                pump.has_ended(_LAST_SILENCE_S)
            else:
                pump.wait()
    if pump.error is not None:
        raise pump.error


class _Pump:
    """Reads a streamer into a channel, in a daemon thread that ends with the streamer."""

    def __init__(self, streamer: Any, channel: DeltaChannel) -> None:
        self._streamer, self._channel = streamer, channel
        self._last_s = time.monotonic()
        self._thread = threading.Thread(target=self._read, name="unspool-pump", daemon=True)
        self.error: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def wait(self) -> None:
        """Wait until the streamer's iteration has ended or the consumer has left."""
        while not self._channel.is_cancelled and not self.has_ended(_SILENCE_S):
            pass

    def has_ended(self, silence_s: float) -> bool:
        """Whether the streamer's iteration has ended; waits for the end until `silence_s` pass without a text."""
        begin_s = time.monotonic()
        while self._thread.is_alive():
            rest_s = max(begin_s, self._last_s) + silence_s - time.monotonic()
            if rest_s <= 0:
                return False
            self._thread.join(rest_s)
        return True

    def _read(self) -> None:
        try:
            for text in self._streamer:
                self._last_s = time.monotonic()
                if text:
                    self._channel.put(Delta("content", text=str(text)))
        except (ChannelCancelledError, ChannelClosedError):
            pass
        except BaseException as error:  # the worker raises it at its end
            self.error = error
