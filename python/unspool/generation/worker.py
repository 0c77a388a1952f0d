"""The one way in which a model is run: in a thread, with an end that always comes."""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from unspool._core import DeltaChannel
from unspool.errors import ArgumentError, ChannelCancelledError
from unspool.fork_safety import ForkSafeLock, in_child
from unspool.generation.hooks import ConditioningHook

__all__ = ["GenerationWorker", "active_workers", "check_timeout", "conditioned", "inference_mode"]

_THREAD_NAME = "unspool-generate"
# How long the interpreter's exit waits for the steps that models are in.
_EXIT_GRACE_S = 2.0


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


_model_locks: weakref.WeakKeyDictionary[Any, threading.Lock] = weakref.WeakKeyDictionary()
_model_locks_lock = ForkSafeLock()


def _reset_in_child() -> None:
    _model_locks.clear()  # their holders are in the parent, as all workers are
    _running.clear()


in_child(_reset_in_child)


@contextlib.contextmanager
def conditioned(
    hook: ConditioningHook | None, model: Any, inputs: Any, is_cancelled: Callable[[], bool]
) -> Iterator[Any]:
    """A hook around a generation: one at a time for each model, `cleanup` once whatever happens.

    Gives the inputs, or what `setup` makes of them.

    Raises:
        ChannelCancelledError: The consumer left while another stream had the model.
    """
    if hook is None:
        yield inputs
        return
    with _model_locks_lock:
        lock = _model_locks.setdefault(model, threading.Lock())
    while not lock.acquire(timeout=0.02):
        if is_cancelled():
            raise ChannelCancelledError("the consumer has left")
    try:
        try:
            changed = hook.setup(inputs)
            yield inputs if changed is None else changed
        except BaseException:
            with contextlib.suppress(Exception):  # the first error is the one to report
                hook.cleanup()
            raise
        hook.cleanup()
    finally:
        lock.release()
