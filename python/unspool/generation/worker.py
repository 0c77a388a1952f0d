"""The one way in which a model is run: in a thread, with an end that always comes."""

from __future__ import annotations

import atexit
import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from unspool._core import DeltaChannel
from unspool.errors import ArgumentError, ChannelCancelledError
from unspool.fork_safety import in_child

__all__ = ["GenerationWorker", "active_workers", "check_timeout", "inference_mode"]

_THREAD_NAME = "unspool-generate"
# How long the interpreter's exit waits for the steps that models are in.
_EXIT_GRACE_S = 2.0
# Seconds in one step after which a model that was asked to stop counts as stuck.
_STUCK_S = 5.0

_log = logging.getLogger("unspool")


class GenerationWorker:
    """Runs `job` in a daemon thread under `inference_mode`; then its channel has ended, exactly once.

    The channel is closed where the job returns or raises, and stays cancelled where the consumer has left.
    At the interpreter's exit the jobs that still run are asked to stop, and waited for a little: a thread
    that comes back from native code after it would abort the process.

    Args:
        stop: Asks the job to stop; None: cancelling the channel is enough.
    """

    def __init__(
        self, channel: DeltaChannel, job: Callable[[], None], stop: Callable[[], None] | None = None
    ) -> None:
        self._channel = channel
        self._stop = stop or channel.cancel
        # Not in the channel: the garbage collector cannot look into it, and a traceback leads back to the stream.
        self._error: BaseException | None = None
        self._job: Callable[[], None] | None = job
        self._thread = threading.Thread(target=self._run, name=_THREAD_NAME, daemon=True)
        self._watch: threading.Timer | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self, grace_s: float) -> bool:
        """Wait for the end, `grace_s` seconds at most; whether it has come."""
        self._thread.join(grace_s)
        return not self._thread.is_alive()

    @property
    def is_alive(self) -> bool:
        """Whether the job is still running."""
        return self._thread.is_alive()

    def report_if_stuck(self, request: str) -> None:
        """Log a warning if the job has not ended some seconds after it was asked to stop; returns at once.

        Args:
            request: Names the request in the log.
        """
        if self._watch is not None or not self.is_alive:
            return
        self._watch = threading.Timer(_STUCK_S, _warn, [self._thread, request, time.monotonic()])
        self._watch.daemon = True
        self._watch.start()
        if not self.is_alive:
            self._watch.cancel()

    def raise_error(self) -> None:
        """Raise the very exception that the job raised; once, and after the end of the channel."""
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback has this frame

    def _run(self) -> None:
        job, self._job = self._job, None
        assert job is not None
        _running.add(self)
        try:
            with inference_mode():
                job()
        except ChannelCancelledError:
            pass  # the consumer has left
        except (StopIteration, StopAsyncIteration) as error:
            # As itself it would end the consumer's loop as if all were well.
            self._error = RuntimeError(f"the model raised {type(error).__name__}")
            self._error.__cause__ = error
        except BaseException as error:  # it belongs to the consumer
            self._error = error
        finally:
            self._channel.close()
            _running.discard(self)
            if self._watch is not None:
                self._watch.cancel()


def _warn(thread: threading.Thread, request: str, asked_s: float) -> None:
    if thread.is_alive():
        _log.warning(
            "%s: the model has been in one step for %.1f s after it was asked to stop; its thread ends with that"
            " step, and keeps the model until then",
            request,
            time.monotonic() - asked_s,
        )


_running: set[GenerationWorker] = set()


@atexit.register
def _stop_all() -> None:
    workers, end_s = list(_running), time.monotonic() + _EXIT_GRACE_S
    for worker in workers:
        worker._stop()
    for worker in workers:
        worker.join(max(0.0, end_s - time.monotonic()))


def active_workers() -> int:
    """How many workers are still running, those among them whose consumer gave up on a stuck model."""
    return sum(thread.name == _THREAD_NAME for thread in threading.enumerate())


def check_timeout(timeout: float | None) -> None:
    """Raise ArgumentError for what is no time to wait."""
    if timeout is not None and not timeout >= 0:
        raise ArgumentError(f"timeout is {timeout}; pass seconds, or None to wait for ever")


def inference_mode() -> contextlib.AbstractContextManager[Any]:
    """torch's inference mode in this thread; nothing if torch is not in use."""
    torch = sys.modules.get("torch")
    return contextlib.nullcontext() if torch is None else torch.inference_mode()


in_child(_running.clear)  # the workers are in the parent
