"""A small cache of recent results, by the arguments that they were made from."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any

from unspool._core import Format, FormatSource, _find_key, _key_of

__all__ = ["Recent"]

#: The marshal version without references: a value that contains itself raises.
_WITHOUT_REFERENCES = 2
_MAX_BYTES = 1 << 18


class Recent:
    """The last few results, each with its key as bytes.

    A key is a tuple of plain data and formats. It finds a result if its values and their types are equal: a key differs
    if a list in it has changed since, or has 1 instead of True (csrc/bindings/data_key.cpp).

    Threads need no lock, because the tuple of entries is replaced as a whole. If two threads replace it at once, one
    entry is lost and is made again later.
    """

    def __init__(self, size: int) -> None:
        self._entries: tuple[tuple[bytes, Any, tuple[Any, ...]], ...] = ()
        self._size = size

    def find(self, key: tuple[Any, ...]) -> Any:
        """Return the result for this key; None if it is not cached."""
        entries = self._entries
        place = _find_key(entries, key)
        if place < 0:
            return None
        if place > 0:
            self._entries = (entries[place], *entries[:place], *entries[place + 1 :])
        return entries[place][1]

    def make(self, key: tuple[Any, ...], make: Callable[..., Any]) -> Any:
        """Call `make` with the key's parts and cache the result, unless they hold other objects or are very large."""
        copy = _copy(key)
        data = None if copy is None else _key_of(copy)
        if copy is None or data is None or len(data) > _MAX_BYTES:
            return make(*key)
        result = make(*copy)  # another thread may change the caller's lists meanwhile
        formats = tuple(
            part for part in copy if isinstance(part, (Format, FormatSource))
        )  # kept alive, so that their addresses are not reused
        self._entries = ((data, result, formats), *self._entries[: self._size - 1])
        return result


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
