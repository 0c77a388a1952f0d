"""Runs the work before the model: rendering, tokenizing, compiling a grammar. Each job has its own thread.

A chat template may loop for ever, and Python cannot end a thread. So a job that passes its deadline, or whose client
disconnects, is abandoned: an exception is raised in its thread and ends it at its next step in Python. Until then the
thread is counted as lost. If too many threads are lost, requests get 503.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import ctypes
import logging
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import anyio

from unspool.serve.http.api_errors import ApiError

__all__ = ["GivenUp", "Preparing"]

_log = logging.getLogger("unspool.serve")
_T = TypeVar("_T")


# Maximum number of jobs at a time. `Limits` bounds answers, but not requests that only tokenize.
_MOST_AT_ONCE = 40


class GivenUp(BaseException):
    """Raised in the thread of an abandoned job. Handlers of Exception do not catch it."""


class Preparing:
    """Runs jobs in threads, with a deadline.

    Args:
        timeout_s: Maximum seconds that a job may take.
        most_lost: Number of lost threads at which no further job begins.

    Attributes:
        lost_count: Number of threads that still run an abandoned job.
        on_change: Called when `lost_count` has changed.
    """

    def __init__(self, timeout_s: float, most_lost: int) -> None:
        self._timeout_s = timeout_s
        self._most_lost = most_lost
        self._places = anyio.CapacityLimiter(_MOST_AT_ONCE)
        self.lost_count = 0
        self.on_change: Callable[[], object] = lambda: None

    @property
    def has_room(self) -> bool:
        """Whether a job may begin."""
        return self.lost_count < self._most_lost

    async def run(self, job: Callable[[], _T], discard: Callable[[_T], object] = lambda _: None) -> _T:
        """Run a job in a thread and return its result.

        Args:
            discard: Called with the result of an abandoned job.

        Raises:
            ApiError: 504, the job takes too long; 503, too many threads are lost.
            BaseException: The job's exception.
        """
        if not self.has_room:
            raise ApiError(
                503,
                f"{self.lost_count} requests are stuck in what comes before the model; restart the server",
                code="server_stuck",
            )
        async with self._places:
            work = _Work(job, discard, self)
            try:
                with anyio.move_on_after(self._timeout_s):
                    return await work.result
            finally:
                work.give_up()
        raise ApiError(
            504,
            f"the prompt was not ready within {self._timeout_s:g} s; shorten it, or simplify its schemas",
            code="prepare_timeout",
        )


class _Work(Generic[_T]):
    """A job and its thread."""

    def __init__(self, job: Callable[[], _T], discard: Callable[[_T], object], owner: Preparing) -> None:
        self._job, self._discard, self._owner = job, discard, owner
        self._loop = asyncio.get_running_loop()
        self.result: asyncio.Future[_T] = self._loop.create_future()
        self._lock = threading.Lock()
        self._is_done = False
        self._is_given_up = False
        self._is_found = False
        context = contextvars.copy_context()
        # A daemon thread, so that neither the server nor the interpreter waits for it at the end.
        self._thread = threading.Thread(
            target=context.run, args=[self._run], name="unspool-prepare", daemon=True
        )
        self._thread.start()

    def give_up(self) -> None:
        """Abandon the job if it still runs."""
        with self._lock:
            if self._is_done or self._is_given_up:
                return
            self._is_given_up = True
            # Under the lock, because nothing may be raised in the thread once the job is done.
            _raise_in(self._thread)
        self._owner.lost_count += 1
        self._owner.on_change()
        _log.warning("a request's preparation is given up; threads lost so far: %d", self._owner.lost_count)

    def _run(self) -> None:
        outcome: list[_T] = []
        error: BaseException | None = None
        try:
            outcome.append(self._job())
        except BaseException as raised:
            error = raised
        try:
            while True:
                try:
                    return self._finish(outcome, error)
                except GivenUp:  # raised after the job had ended
                    continue
        finally:
            # Break the cycle: the traceback refers to this frame and to the job's objects, which must be freed now.
            error = None

    def _finish(self, outcome: list[_T], error: BaseException | None) -> None:
        with self._lock:
            self._is_done = True
        if not self._is_given_up:
            self._call(self._deliver, outcome, error)
            return
        while outcome:
            self._discard(outcome[-1])
            outcome.pop()
        self._call(self._found)

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(function, *arguments)

    def _deliver(self, outcome: list[_T], error: BaseException | None) -> None:
        if self.result.done():  # the client disconnected at the same time
            for result in outcome:
                self._discard(result)
        elif error is None:
            self.result.set_result(outcome[0])
        elif isinstance(error, Exception) and not isinstance(error, StopIteration):
            self.result.set_exception(error)
        else:  # raised as it is, it would end the event loop
            self.result.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))

    def _found(self) -> None:
        if self._is_found:
            return
        self._is_found = True
        self._owner.lost_count -= 1
        self._owner.on_change()
        _log.info("a lost thread has ended; %d are left", self._owner.lost_count)


def _raise_in(thread: threading.Thread) -> None:
    """Raise GivenUp in a thread at its next step in Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(GivenUp))
