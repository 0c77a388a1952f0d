"""Locks that are free in a forked child."""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable

__all__ = ["ForkSafeLock", "in_child"]


def in_child(reset: Callable[[], None]) -> None:
    """Register `reset` to be called in each child that is forked from now on."""
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=reset)


class ForkSafeLock:
    """A module's lock that is free again in a forked child, where the thread that held it does not exist."""

    def __init__(self) -> None:
        self._reset()
        in_child(self._reset)

    def _reset(self) -> None:
        self._lock = _thread.allocate_lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
