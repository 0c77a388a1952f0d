"""Hooks that change a model's state for one request, and the lock that keeps other requests from it."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from unspool.core.fork_safety import ForkSafeLock, in_child
from unspool.core.shared_lock import SharedLock

__all__ = ["ConditioningHook", "conditioned"]


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


_locks: weakref.WeakKeyDictionary[Any, SharedLock] = weakref.WeakKeyDictionary()
_locks_lock = ForkSafeLock()
in_child(_locks.clear)  # after a fork, the workers that hold them are in the parent only


@contextlib.contextmanager
def conditioned(
    hook: ConditioningHook | None, model: Any, inputs: Any, is_cancelled: Callable[[], bool]
) -> Iterator[Any]:
    """Hold the model for one generation, exclusively if there is a hook; `cleanup` always runs, once.

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
            lock = _locks.setdefault(model, SharedLock())
    except TypeError:  # the model cannot be a weak key, which is an error only with a hook
        if exclusive:
            raise
        return contextlib.nullcontext()
    return lock.hold(exclusive, is_cancelled)
