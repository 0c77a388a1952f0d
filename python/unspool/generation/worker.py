"""The one way in which a model is run: in a thread, with an end that always comes."""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from unspool._core import DeltaChannel
from unspool.errors import ChannelCancelledError
from unspool.generation.hooks import ConditioningHook

__all__ = ["GenerationWorker", "active_workers", "conditioned", "inference_mode"]

_THREAD_NAME = "unspool-generate"


class GenerationWorker:
    """Runs `job` in a daemon thread under `inference_mode`; then its channel has ended, exactly once.

    The channel is closed where the job returns, failed with the very exception that it raises, and stays
    cancelled where the consumer has left.
    """

    def __init__(self, channel: DeltaChannel, job: Callable[[], None]) -> None:
        self._channel = channel
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

    def _run(self) -> None:
        job, self._job = self._job, None
        assert job is not None
        try:
            with inference_mode():
                job()
        except ChannelCancelledError:
            pass  # the consumer has left
        except BaseException as error:  # it belongs to the consumer
            self._channel.fail(error)
        finally:
            self._channel.close()


def active_workers() -> int:
    """How many workers are still running, those among them whose consumer gave up on a stuck model."""
    return sum(thread.name == _THREAD_NAME for thread in threading.enumerate())


def inference_mode() -> contextlib.AbstractContextManager[Any]:
    """torch's inference mode in this thread; nothing where torch is not in use."""
    torch = sys.modules.get("torch")
    return contextlib.nullcontext() if torch is None else torch.inference_mode()


_model_locks: weakref.WeakKeyDictionary[Any, threading.Lock] = weakref.WeakKeyDictionary()
_model_locks_lock = threading.Lock()


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
        finally:
            hook.cleanup()
    finally:
        lock.release()
