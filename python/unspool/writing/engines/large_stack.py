"""Runs a function on a stack of known size: llguidance compiles by recursion, and a caller's stack may be small."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["on_large_stack"]

_T = TypeVar("_T")

# This is address space, which costs memory only where it is used. The deepest grammar needs about 4 MiB.
_STACK_BYTES = 64 * 1024 * 1024

# Python sets the stack size for all threads that start afterwards, so only one may start at a time.
_starting = threading.Lock()


def on_large_stack(job: Callable[[], _T]) -> _T:
    """Run the job in a thread with a large stack; return its result, or raise its exception."""
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(job())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="unspool-compile", daemon=True)
    with _starting:
        before = threading.stack_size(_STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
    thread.join()
    if errors:
        raise errors.pop()
    return results.pop()
