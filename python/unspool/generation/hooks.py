"""State that a model has for one request, and the lock that keeps other requests away from it."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from unspool.core.fork_safety import ForkSafeLock, in_child
from unspool.errors import ChannelCancelledError

__all__ = ["ConditioningHook", "conditioned"]

# Seconds between two looks at whether the consumer has left.
_POLL_S = 0.02


class ConditioningHook:
    """Conditions a model for one request: Flamingo's media, an adapter, a cache of your own.

    Both methods run in the worker, under inference mode. Nothing else runs on the model between them.
    """

    def setup(self, inputs: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Prepare the model; called before it runs.

        Args:
            inputs: The inputs of the model: `input_ids` of shape (1, n), `inputs_embeds`, ….

        Returns:
            Other inputs to use, or None to use these.
        """
        raise NotImplementedError(f"{type(self).__name__}.setup(inputs) is missing")

    def cleanup(self) -> None:
        """Undo `setup`. Called exactly once, also if `setup` or the model fails or the consumer leaves."""
        raise NotImplementedError(f"{type(self).__name__}.cleanup() is missing")


class _ModelLock:
    """A readers-writer lock: generations without a hook share the model, one with a hook has it alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._shared_count = 0
        self._is_exclusive = False
        self._waiting_exclusive = 0  # new shared holders wait for these, so that they get their turn

    @contextlib.contextmanager
    def hold(self, exclusive: bool, is_cancelled: Callable[[], bool]) -> Iterator[None]:
        """Hold the lock; raises ChannelCancelledError if the consumer leaves before it is free."""
        with self._changed:
            self._waiting_exclusive += exclusive
            try:
                while self._is_exclusive or (self._shared_count if exclusive else self._waiting_exclusive):
                    self._changed.wait(_POLL_S)
                    if is_cancelled():
                        raise ChannelCancelledError("the consumer left before the model was free")
            finally:
                self._waiting_exclusive -= exclusive
            self._is_exclusive = exclusive
            self._shared_count += not exclusive
        try:
            yield
        finally:
            with self._changed:
                self._is_exclusive = False
                self._shared_count -= not exclusive
                self._changed.notify_all()


_locks: weakref.WeakKeyDictionary[Any, _ModelLock] = weakref.WeakKeyDictionary()
_locks_lock = ForkSafeLock()
in_child(_locks.clear)  # their holders are in the parent, as all workers are


@contextlib.contextmanager
def conditioned(
    hook: ConditioningHook | None, model: Any, inputs: Any, is_cancelled: Callable[[], bool]
) -> Iterator[Any]:
    """Hold the model for one generation, alone if there is a hook; `cleanup` runs once whatever happens.

    Yields the inputs, or what `setup` returns in their place.

    Raises:
        ChannelCancelledError: The consumer left while another stream had the model.
    """
    with _hold(model, hook is not None, is_cancelled):
        if hook is None:
            yield inputs
            return
        try:
            changed = hook.setup(inputs)
            yield inputs if changed is None else changed
        except BaseException:
            with contextlib.suppress(Exception):  # the first error is the one to report
                hook.cleanup()
            raise
        hook.cleanup()


def _hold(
    model: Any, exclusive: bool, is_cancelled: Callable[[], bool]
) -> contextlib.AbstractContextManager[None]:
    try:
        with _locks_lock:
            lock = _locks.setdefault(model, _ModelLock())
    except TypeError:  # no weak references to it, or no hash: with a hook this is an error
        if exclusive:
            raise
        return contextlib.nullcontext()
    return lock.hold(exclusive, is_cancelled)
