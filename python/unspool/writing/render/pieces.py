"""Pieces of rendered text: the markup of a format, and the text in its holes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unspool._core import Edge, Hole, Repeat, TextShape

__all__ = [
    "Piece", "Written", "after", "around", "as_text", "fill", "join", "markup", "text_of", "without_breaks",
    "without_turn",
]  # fmt: skip

Item = Edge | Hole | Repeat


@dataclass(frozen=True)
class Piece:
    """A part of an answer.

    Attributes:
        is_markup: Whether it is a format's own text. Markers count only in markup.
    """

    text: str
    is_markup: bool


Written = tuple[Piece, ...]


def as_text(text: str) -> Written:
    """Return pieces of plain text."""
    return (Piece(text, False),) if text else ()


def text_of(written: Iterable[Piece]) -> str:
    """Return the concatenated text of pieces."""
    return "".join(piece.text for piece in written)


def fill(items: Sequence[Item], values: Mapping[str, Any]) -> Written:
    """Fill the holes of items.

    Args:
        values: The pieces for each kind of hole; under "...", the values for each repetition. A hole without a value
            is empty.
    """
    pieces: list[Piece] = []
    for item in items:
        if isinstance(item, Edge):
            pieces += markup(item)
        elif isinstance(item, Hole):
            pieces += values.get(item.kind, ())
        else:
            pieces += join(
                [fill(item.items, repetition) for repetition in values.get("...", ())], item.separator
            )
    return tuple(pieces)


def around(shape: TextShape, text: Written, *, is_closed: bool = True) -> Written:
    """Put the shape's markup around a text."""
    opener = (*markup(shape.author), *markup(shape.open))
    return (*opener, *text, *(markup(shape.close) if is_closed else ()))


def join(parts: Iterable[Written], separator: Edge) -> Written:
    """Join the parts with markup between them."""
    pieces: list[Piece] = []
    for number, part in enumerate(parts):
        pieces += [*(markup(separator) if number else ()), *part]
    return tuple(pieces)


def markup(*edges: Edge | None) -> Written:
    """Return the literals of edges as one piece."""
    text = "".join(edge.literal for edge in edges if edge is not None)
    return (Piece(text, True),) if text else ()


def without_breaks(written: Written) -> Written:
    """Remove the line breaks at the beginning of pieces."""
    return _without_start(written, _breaks_at_start(written))


def without_turn(written: Written, turn: str, continues: bool) -> Written:
    """Remove the beginning of the pieces that is already in the prompt.

    Args:
        turn: The last text of the prompt.
        continues: Whether to remove any end of the turn. False: remove only the whole turn, so that the reasoning's
            opener stays part of the answer.
    """
    first = written[0].text if written and written[0].is_markup else ""
    ends = [turn[begin:] for begin in range(len(turn) if continues else min(1, len(turn)))]
    return _without_start(written, len(next((end for end in ends if first.startswith(end)), "")))


def after(before: Written, written: Written, is_bare: bool = False) -> Written:
    """Remove the line breaks at the beginning of `written` that `before` already ends with.

    A call without an opener must begin a line; the line break at the end of the content is enough.
    """
    if not written or not written[0].is_markup:
        return written
    if not before:
        return without_breaks(written)
    there = text_of(before)
    if not before[-1].is_markup and not (is_bare and there.endswith("\n")):
        return written
    return _without_start(written, min(_breaks_at_start(written), len(there) - len(there.rstrip("\n"))))


def _breaks_at_start(written: Written) -> int:
    text = written[0].text
    return len(text) - len(text.lstrip("\n"))


def _without_start(written: Written, size: int) -> Written:
    if not size:
        return written
    first = written[0]
    return (Piece(first.text[size:], first.is_markup), *written[1:])
