"""Encodes a rendered answer: markers by id, and other text so that it never becomes a marker."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from unspool._core import FormatSource, Vocabulary
from unspool.errors import ArgumentError
from unspool.writing.render.pieces import Written

__all__ = ["Encode", "encode_written"]

Encode = Callable[[str], Sequence[int]]


def encode_written(written: Written, file: FormatSource, vocabulary: Vocabulary, encode: Encode) -> list[int]:
    """Encode the answer.

    Args:
        encode: A function that encodes text without adding tokens at its beginning or end.

    Raises:
        ArgumentError: `encode` returned a marker or special token for text that is not one.
    """
    markers = _markers_of(file, vocabulary)
    kept = frozenset(markers.ids.values())
    encoded: list[int] = []
    for text, id in _stretches(written, markers):
        for part in _apart(text, markers):
            ids = [int(token) for token in encode(part)]
            if not kept.isdisjoint(ids):
                raise ArgumentError(f"encode makes a special token of {part!r}; pass one that adds none")
            encoded += ids
        if id is not None:
            encoded.append(id)
    return encoded


@dataclass(frozen=True)
class _Markers:
    """The tokens that text must never become: special tokens, and tokens that the format matches by id.

    Attributes:
        expression: Matches the longest of them; None if there are none.
    """

    ids: dict[str, int]
    expression: re.Pattern[str] | None

    def find(self, text: str) -> Iterator[re.Match[str]]:
        return self.expression.finditer(text) if self.expression else iter(())


_tables: weakref.WeakKeyDictionary[Vocabulary, dict[FormatSource, _Markers]] = weakref.WeakKeyDictionary()


def _markers_of(file: FormatSource, vocabulary: Vocabulary) -> _Markers:
    """Built once per vocabulary and format, because a vocabulary can have thousands of added tokens."""
    tables = _tables.setdefault(vocabulary, {})
    if file not in tables:
        known = {*file.facts.marker_tokens, *file.facts.ends}
        ids = {
            content: id
            for id, content in vocabulary.added_tokens.items()
            if content and (vocabulary.is_special(id) or content in known)
        }
        longest_first = sorted(ids, key=len, reverse=True)
        tables[file] = _Markers(ids, re.compile("|".join(map(re.escape, longest_first))) if ids else None)
    return tables[file]


def _stretches(written: Written, markers: _Markers) -> Iterator[tuple[str, int | None]]:
    """Yield each text between marker tokens with the token after it; None after the last text."""
    text = ""
    for piece in written:
        begin = 0
        for found in markers.find(piece.text) if piece.is_markup else ():
            yield text + piece.text[begin : found.start()], markers.ids[found.group()]
            text, begin = "", found.end()
        text += piece.text[begin:]
    yield text, None


def _apart(text: str, markers: _Markers) -> Iterator[str]:
    """Split a text into parts that spell no marker: each marker is split after its first letter."""
    while text:
        found = next(markers.find(text), None)
        if found is None:
            yield text
            return
        yield text[: found.start() + 1]
        text = text[found.start() + 1 :]
