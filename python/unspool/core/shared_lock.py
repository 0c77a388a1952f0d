"""A lock that many threads can share, or one thread can hold alone."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from unspool.errors import ChannelCancelledError

__all__ = ["SharedLock"]

# Seconds between two checks whether the consumer has left.
_POLL_S = 0.02


class SharedLock:
    """A readers-writer lock for a model: generations without a hook share it; one with a hook holds it alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._shared_count = 0
        self._is_exclusive = False
        self._waiting_exclusive = 0  # new shared holders wait for these, which would starve otherwise

    @contextlib.contextmanager
    def hold(self, exclusive: bool, is_cancelled: Callable[[], bool]) -> Iterator[None]:
        """Hold the lock.

        Raises:
            ChannelCancelledError: The consumer left before the lock was free.
        """
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
