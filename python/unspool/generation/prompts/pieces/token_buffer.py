"""Buffers ids until a chunk of the prompt is full."""

from __future__ import annotations

from collections.abc import Iterable

from unspool.errors import ArgumentError

__all__ = ["TokenBuffer"]

_COMPACT_AT = 1024  # consumed ids after which the list is compacted


class TokenBuffer:
    """A queue of token ids; n ids cost O(n) in all, whatever the sizes of puts and pops.

    Attributes:
        peak: The most ids that were buffered at one time.
    """

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._head = 0  # ids before it are consumed
        self.peak = 0

    def __len__(self) -> int:
        return len(self._ids) - self._head

    def put(self, ids: Iterable[int]) -> None:
        """Append these ids."""
        self._ids.extend(ids)
        self.peak = max(self.peak, len(self))

    def pop(self, count: int) -> list[int]:
        """Remove and return the first `count` ids.

        Raises ArgumentError if `count` is below 1 or above the length; then nothing is removed.
        """
        if isinstance(count, bool) or not isinstance(count, int):
            raise TypeError(f"count must be an int, not {type(count).__name__}")
        if not 1 <= count <= len(self):
            raise ArgumentError(f"cannot take {count} ids: ask for 1 to {len(self)}, what the buffer holds")
        begin = self._head
        self._head += count
        taken = self._ids[begin : self._head]
        # At least half of the list is consumed, so compacting costs no more than the pops before it.
        if self._head >= _COMPACT_AT and 2 * self._head >= len(self._ids):
            del self._ids[: self._head]
            self._head = 0
        return taken
