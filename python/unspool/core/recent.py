"""What was made last, found again by what it was made from."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any

from unspool._core import Format, FormatSource, _find_key, _key_of

__all__ = ["Recent"]

#: The marshal version without references: what contains itself raises.
_WITHOUT_REFERENCES = 2
_MAX_BYTES = 1 << 18


class Recent:
    """The last few things made, each with its key as bytes.

    A key is a tuple of plain data and formats. It finds what was made from the same: a key is another one if a list in
    it has changed since, or has 1 for True (csrc/bindings/data_key.cpp).

    Threads need no lock: the entries are replaced as a whole. If two threads do so at once, one entry is lost, and made
    again.
    """

    def __init__(self, size: int) -> None:
        self._entries: tuple[tuple[bytes, Any, tuple[Any, ...]], ...] = ()
        self._size = size

    def find(self, key: tuple[Any, ...]) -> Any:
        """Return what was made from this key; None if it is not kept."""
        entries = self._entries
        place = _find_key(entries, key)
        if place < 0:
            return None
        if place > 0:
            self._entries = (entries[place], *entries[:place], *entries[place + 1 :])
        return entries[place][1]

    def make(self, key: tuple[Any, ...], make: Callable[..., Any]) -> Any:
        """Return what `make` makes of the key's parts, and keep it unless they hold other objects or are very large."""
        copy = _copy(key)
        data = None if copy is None else _key_of(copy)
        if copy is None or data is None or len(data) > _MAX_BYTES:
            return make(*key)
        made = make(*copy)  # another thread may change the caller's lists meanwhile
        formats = tuple(
            part for part in copy if isinstance(part, (Format, FormatSource))
        )  # addresses stay theirs
        self._entries = ((data, made, formats), *self._entries[: self._size - 1])
        return made


def _copy(key: tuple[Any, ...]) -> tuple[Any, ...] | None:
    try:
        return tuple(
            part
            if isinstance(part, (Format, FormatSource))
            else marshal.loads(marshal.dumps(part, _WITHOUT_REFERENCES))
            for part in key
        )
    except ValueError:  # not plain data throughout
        return None
