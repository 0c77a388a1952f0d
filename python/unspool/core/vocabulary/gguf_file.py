"""Reads the metadata at the beginning of a GGUF file. A damaged file raises VocabularyError, early, and nothing else.

A file consists of `GGUF`, a version, two counts, and then the facts: a key, a type and a value each. Numbers are
little-endian. A text is stored as its length and its UTF-8 bytes. The tensors after the facts are never read.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any, BinaryIO

from unspool.errors import VocabularyError

__all__ = ["read_gguf"]

_VERSIONS = (2, 3)
_MOST_FACTS = 1 << 16
_MOST_ITEMS = 1 << 22  # in one array
_MOST_BYTES = 128 << 20  # in all facts together

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9


def read_gguf(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the facts by key: numbers, texts, and lists of them.

    Raises:
        VocabularyError: The file is not a GGUF file of version 2 or 3, or is damaged.
    """
    with Path(path).open("rb") as file:
        return _Reader(file).facts()


class _Reader:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = min(os.fstat(file.fileno()).st_size, _MOST_BYTES)

    def facts(self) -> dict[str, Any]:
        if self._left < 4 or self._take(4) != b"GGUF":
            raise VocabularyError("not a GGUF file")
        version = self._number("I")
        if version not in _VERSIONS:
            raise VocabularyError(f"GGUF of version {version} is not read; convert the model again")
        self._number("Q")  # the number of tensors
        count = self._number("Q")
        if count > _MOST_FACTS:
            raise VocabularyError(f"{count} facts in a GGUF file, of at most {_MOST_FACTS}")
        facts: dict[str, Any] = {}
        for _ in range(count):
            key = self._text()
            if key in facts:
                raise VocabularyError(f"'{key[:60]}' is twice in the GGUF file")
            facts[key] = self._value(self._number("I"), key)
        return facts

    def _value(self, kind: int, key: str) -> Any:
        if kind == _TEXT:
            return self._text()
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        if kind != _ARRAY:
            raise VocabularyError(f"'{key[:60]}' of the GGUF file has the unknown type {kind}")
        kind, count = self._number("I"), self._number("Q")
        if count > _MOST_ITEMS:
            raise VocabularyError(f"'{key[:60]}' of the GGUF file has {count} items, more than {_MOST_ITEMS}")
        if kind == _TEXT:
            return [self._text() for _ in range(count)]
        if kind not in _NUMBERS:
            raise VocabularyError(f"'{key[:60]}' of the GGUF file has items of the unknown type {kind}")
        form = f"<{count}{_NUMBERS[kind]}"
        return list(struct.unpack(form, self._take(struct.calcsize(form))))

    def _number(self, code: str) -> Any:
        form = f"<{code}"
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _text(self) -> str:
        try:
            return self._take(int.from_bytes(self._take(8), "little")).decode()
        except UnicodeDecodeError as error:
            raise VocabularyError(f"a text of the GGUF file is not UTF-8: {error}") from None

    def _take(self, size: int) -> bytes:
        self._left -= size
        data = self._file.read(size) if self._left >= 0 else b""
        if len(data) != size:
            raise VocabularyError(
                f"the GGUF file is cut off, or its facts have more than {_MOST_BYTES} bytes"
            )
        return data
