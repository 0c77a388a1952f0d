"""Runs a model in a thread, and always ends its channel."""

from __future__ import annotations

import atexit
import contextlib
import logging
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from unspool._core import DeltaChannel
from unspool.core.fork_safety import in_child
from unspool.errors import ArgumentError, ChannelCancelledError

__all__ = ["GenerationWorker", "Worker", "active_workers", "check_timeout", "inference_mode"]

_THREAD_NAME = "unspool-generate"
# Seconds that the interpreter's exit waits for running steps.
_EXIT_GRACE_S = 2.0
# Seconds in one step after which a model that was asked to stop counts as stuck.
_STUCK_S = 5.0

_log = logging.getLogger("unspool")


class Worker(ABC):
    """Runs the job of a `DeltaStream` and reports its error. The job's channel ends exactly once."""

    def __init__(self) -> None:
        # Not stored in the channel, because the garbage collector would not see the traceback's cycle with the stream.
        self._error: BaseException | None = None

    @abstractmethod
    def start(self) -> None:
        """Start the job."""

    @abstractmethod
    def stop(self) -> None:
        """Ask the job to stop; returns at once."""

    @abstractmethod
    def join(self, grace_s: float) -> bool:
        """Wait for the end, at most `grace_s` seconds; returns whether the job has ended."""

    @property
    @abstractmethod
    def is_alive(self) -> bool:
        """Whether the job is still running."""

    def report_if_stuck(self, request: str) -> None:  # noqa: B027 (a task has nothing to report)
        """Log a warning if the job has not ended some seconds after it was asked to stop; returns at once.

        Args:
            request: Names the request in the log.
        """

    def raise_error(self) -> None:
        """Raise the job's exception, as the same object, once; call after the end of the channel."""
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback refers to this frame

    def _keep(self, error: BaseException) -> None:
        """Keep the job's exception for the consumer."""
        self._error = error
        if isinstance(error, (StopIteration, StopAsyncIteration)):
            # A StopIteration would end the consumer's loop without an error.
            self._error = RuntimeError(f"the model raised {type(error).__name__}")
            self._error.__cause__ = error


class GenerationWorker(Worker):
    """Runs `job` in a daemon thread under `inference_mode`. Its channel ends exactly once.

    The channel is closed after the job returns or raises, and stays cancelled if the consumer has left.
    The interpreter's exit asks running jobs to stop and waits briefly for them, since a thread that returns from
    native code later would abort the process.

    Args:
        stop: Asks the job to stop; None: cancel the channel.
    """

    def __init__(
        self, channel: DeltaChannel, job: Callable[[], None], stop: Callable[[], None] | None = None
    ) -> None:
        super().__init__()
        self._channel = channel
        self._stop = stop or channel.cancel
        self._job: Callable[[], None] | None = job
        self._thread = threading.Thread(target=self._run, name=_THREAD_NAME, daemon=True)
        self._watch: threading.Timer | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the job to stop; returns at once."""
        self._stop()

    def join(self, grace_s: float) -> bool:
        """Wait for the end, at most `grace_s` seconds; returns whether the job has ended."""
        self._thread.join(grace_s)
        return not self._thread.is_alive()

    @property
    def is_alive(self) -> bool:
        """Whether the job is still running."""
        return self._thread.is_alive()

    def report_if_stuck(self, request: str) -> None:
        """As in `Worker`."""
        if self._watch is not None or not self.is_alive:
            return
        self._watch = threading.Timer(_STUCK_S, _warn, [self._thread, request, time.monotonic()])
        self._watch.daemon = True
        self._watch.start()
        if not self.is_alive:
            self._watch.cancel()

    def _run(self) -> None:
        job, self._job = self._job, None
        assert job is not None
        _running.add(self)
        try:
            with inference_mode():
                job()
        except ChannelCancelledError:
            pass  # the consumer has left
        except BaseException as error:  # passed to the consumer
            self._keep(error)
        finally:
            self._channel.close()
            _running.discard(self)
            if self._watch is not None:
                self._watch.cancel()


def _warn(thread: threading.Thread, request: str, asked_s: float) -> None:
    if thread.is_alive():
        text = (
            "%s: the model has been in one step for %.1f s after it was asked to stop; its thread ends with that"
            " step, and keeps the model until then"
        )
        _log.warning(text, request, time.monotonic() - asked_s)


_running: set[GenerationWorker] = set()


@atexit.register
def _stop_all() -> None:
    end_s = time.monotonic() + _EXIT_GRACE_S
    for worker in list(_running):
        worker.stop()
    for thread in _threads():  # also those whose job has ended, since they may still free the model's tensors
        thread.join(max(0.0, end_s - time.monotonic()))


def active_workers() -> int:
    """The number of workers that still run, including those whose consumer has left."""
    return len(_threads())


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == _THREAD_NAME]


def check_timeout(timeout: float | None) -> None:
    """Raise ArgumentError unless the value is a valid timeout."""
    if timeout is not None and not timeout >= 0:
        raise ArgumentError(f"timeout is {timeout}; pass seconds, or None to wait for ever")


def inference_mode() -> contextlib.AbstractContextManager[Any]:
    """Return torch's inference mode for this thread; it has no effect if torch is not imported."""
    torch = sys.modules.get("torch")
    return contextlib.nullcontext() if torch is None else torch.inference_mode()


in_child(_running.clear)  # after a fork, the workers are in the parent only
