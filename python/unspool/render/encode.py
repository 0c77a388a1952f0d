"""A written answer as token ids: markers by id, and all other text so that it never becomes one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from unspool._core import Vocabulary
from unspool.errors import ArgumentError
from unspool.format_files import FormatFile
from unspool.render.pieces import Written

__all__ = ["Encode", "encode_written"]

Encode = Callable[[str], Sequence[int]]


def encode_written(written: Written, file: FormatFile, vocabulary: Vocabulary, encode: Encode) -> list[int]:
    """The answer's ids.

    Args:
        encode: Text to ids, without tokens at its beginning or end.

    Raises:
        ArgumentError: `encode` makes a marker's or a special token of text that has none.
    """
    tokens = _marker_tokens(file, vocabulary)
    markers = _any_of(tokens.values())
    kept = frozenset(tokens)
    made: list[int] = []
    for text, id in _stretches(written, markers, {content: id for id, content in tokens.items()}):
        for part in _apart(text, markers):
            ids = [int(one) for one in encode(part)]
            if not kept.isdisjoint(ids):
                raise ArgumentError(f"encode makes a special token of {part!r}; pass one that adds none")
            made += ids
        if id is not None:
            made.append(id)
    return made


def _marker_tokens(file: FormatFile, vocabulary: Vocabulary) -> dict[int, str]:
    """The tokens that no text may become: special ones, and what the format knows by id."""
    known = {*file.facts.marker_tokens, *file.facts.ends}
    return {
        id: content
        for id, content in vocabulary.added_tokens.items()
        if content and (vocabulary.is_special(id) or content in known)
    }


def _any_of(texts: Iterable[str]) -> re.Pattern[str] | None:
    longest_first = sorted(texts, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def _stretches(
    written: Written, markers: re.Pattern[str] | None, ids: dict[str, int]
) -> Iterator[tuple[str, int | None]]:
    """The texts between marker tokens, each with the token after it; after the last one there is none."""
    text = ""
    for piece in written:
        begin = 0
        for found in markers.finditer(piece.text) if markers and piece.is_markup else ():
            yield text + piece.text[begin : found.start()], ids[found.group()]
            text, begin = "", found.end()
        text += piece.text[begin:]
    yield text, None


def _apart(text: str, markers: re.Pattern[str] | None) -> Iterator[str]:
    """The text in parts, none of which spells a marker: each is cut behind its first letter."""
    while text:
        found = markers.search(text) if markers else None
        if found is None:
            yield text
            return
        yield text[: found.start() + 1]
        text = text[found.start() + 1 :]
