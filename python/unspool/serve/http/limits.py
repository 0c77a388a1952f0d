"""Limits of running answers and of queued requests."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable

import anyio

from unspool.serve.http.api_errors import ApiError

__all__ = ["Limits"]


class Limits:
    """Grants turns in the order of arrival; a request is rejected if the queue is full.

    Args:
        max_workers: Maximum number of turns at a time.
        max_queue: Maximum length of the queue.
        retry_after_s: Seconds that a rejected client should wait.

    Attributes:
        running_count: The number of answers that are being generated.
        waiting_count: The number of requests that wait for a turn.
        on_change: Called when either number has changed.
    """

    def __init__(self, max_workers: int, max_queue: int, retry_after_s: int = 1) -> None:
        self._turns = anyio.Semaphore(max_workers)
        self._max_queue = max_queue
        self._retry_after_s = retry_after_s
        self.running_count = 0
        self.waiting_count = 0
        self.on_change: Callable[[], object] = lambda: None

    def check_room(self) -> None:
        """Raise ApiError 429 if a new request would find no turn and a full queue."""
        if self.waiting_count >= self._max_queue and self._turns.value == 0:
            raise ApiError(
                429,
                f"the server is busy: {self.running_count} answers are being generated and "
                f"{self.waiting_count} requests wait; try again in {self._retry_after_s} s",
                code="too_many_requests",
                headers={"Retry-After": str(self._retry_after_s)},
            )

    def take(self) -> bool:
        """Take a turn if one is free; return whether it was."""
        try:
            self._turns.acquire_nowait()
        except anyio.WouldBlock:
            return False
        self._began()
        return True

    async def wait(self) -> None:
        """Wait for a turn and take it.

        Raises:
            ApiError: 429, too many are waiting.
        """
        self.check_room()
        self.waiting_count += 1
        self.on_change()
        try:
            await self._turns.acquire()
        finally:
            self.waiting_count -= 1
            self.on_change()
        self._began()

    def give_back(self) -> None:
        """End a turn."""
        self.running_count -= 1
        self.on_change()
        self._turns.release()

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn and hold it during the block; raises as `wait` does."""
        if not self.take():
            await self.wait()
        try:
            yield
        finally:
            self.give_back()

    def _began(self) -> None:
        self.running_count += 1
        self.on_change()
