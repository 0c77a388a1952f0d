"""Runs a model's requests as tasks of an event loop instead of threads."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from unspool._core import DeltaChannel
from unspool.core.fork_safety import in_child
from unspool.errors import ChannelCancelledError
from unspool.generation.worker import Worker

__all__ = ["TaskWorker", "background_loop"]


class TaskWorker(Worker):
    """Runs `job` as a task of `loop`.

    Args:
        job: The coroutine function to run; cancelled when the consumer leaves.
        loop: The event loop; None: a loop in a thread that all such workers share.
    """

    def __init__(
        self,
        channel: DeltaChannel,
        job: Callable[[], Coroutine[Any, Any, None]],
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__()
        self._channel = channel
        self._job: Callable[[], Coroutine[Any, Any, None]] | None = job
        self._loop = loop or background_loop()
        self._task: asyncio.Task[None] | None = None
        # Held until the end of the job. A lock instead of an Event, which takes a kilobyte.
        self._running = threading.Lock()
        self._running.acquire()

    def start(self) -> None:
        """Start the task, from any thread."""
        if not self._call(self._begin):
            self._end()

    def stop(self) -> None:
        """Ask the job to stop; returns at once."""
        self._channel.cancel()
        self._call(self._cancel)

    def join(self, grace_s: float) -> bool:
        """Wait at most `grace_s` seconds for the end, but not on the loop itself; returns whether it has ended."""
        if asyncio._get_running_loop() is self._loop:
            grace_s = 0
        if self._running.acquire(timeout=grace_s):
            self._running.release()
            return True
        return False

    @property
    def is_alive(self) -> bool:
        """Whether the job is still running."""
        return self._running.locked()

    def _call(self, function: Callable[[], None]) -> bool:
        """Schedule a call on the loop; False if the loop is closed."""
        if asyncio._get_running_loop() is self._loop:
            function()
            return True
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function)
            return True
        return False

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._run())

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        job, self._job = self._job, None
        assert job is not None
        try:
            if not self._channel.is_cancelled:
                await job()
        except (ChannelCancelledError, asyncio.CancelledError):
            self._channel.cancel()  # the consumer has left, or the loop ends
        except BaseException as error:  # passed to the consumer
            self._keep(error)
        finally:
            self._end()

    def _end(self) -> None:
        self._channel.close()
        self._task = None
        self._running.release()


class _Background:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self._forget()
        in_child(self._forget)  # after a fork, the thread is in the parent only

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(target=self._loop.run_forever, name="unspool-tasks", daemon=True)
                thread.start()
            return self._loop


_background = _Background()


def background_loop() -> asyncio.AbstractEventLoop:
    """Return the shared event loop for callers without one."""
    return _background.loop()
