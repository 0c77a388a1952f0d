"""Ids that wait until a chunk of the prompt is full."""

from __future__ import annotations

from collections.abc import Iterable

from unspool.errors import ArgumentError

__all__ = ["TokenBuffer"]

_COMPACT_AT = 1024  # ids taken before the list is moved to its front again


class TokenBuffer:
    """A queue of token ids; n ids cost O(n) in all, whatever the sizes of puts and pops."""

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._head = 0  # what is before it was taken
        self._peak = 0

    def __len__(self) -> int:
        return len(self._ids) - self._head

    @property
    def peak(self) -> int:
        """The most ids that it ever held."""
        return self._peak

    def put(self, ids: Iterable[int]) -> None:
        """Append these ids."""
        self._ids.extend(ids)
        self._peak = max(self._peak, len(self))

    def pop(self, count: int) -> list[int]:
        """Take the first `count` ids.

        Raises ArgumentError when `count` is below 1 or more than the buffer holds; then nothing is taken.
        """
        if isinstance(count, bool) or not isinstance(count, int):
            raise TypeError(f"count must be an int, not {type(count).__name__}")
        if not 1 <= count <= len(self):
            raise ArgumentError(f"cannot take {count} ids: ask for 1 to {len(self)}, what the buffer holds")
        begin = self._head
        self._head += count
        taken = self._ids[begin : self._head]
        # Half of the list is dead, so a move costs no more than the pops that led to it.
        if self._head >= _COMPACT_AT and 2 * self._head >= len(self._ids):
            del self._ids[: self._head]
            self._head = 0
        return taken
