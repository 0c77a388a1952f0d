"""What was written, in pieces: the markup of a pattern, and text that was put into its holes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from unspool.patterns import Pattern

__all__ = ["Piece", "Written", "as_text", "fill", "join", "text_of", "without_prefix"]


@dataclass(frozen=True)
class Piece:
    """A part of an answer.

    Attributes:
        is_markup: Whether it is a pattern's own text, in which a marker is a marker. In other text it is text.
    """

    text: str
    is_markup: bool


Written = tuple[Piece, ...]


def as_text(text: str) -> Written:
    """Text in which nothing is markup."""
    return (Piece(text, False),) if text else ()


def text_of(written: Iterable[Piece]) -> str:
    """All of it as one text."""
    return "".join(piece.text for piece in written)


def fill(pattern: Pattern, values: Mapping[str, Written]) -> Written:
    """The pattern with its holes filled. A hole without a value stays empty."""
    made = [*_markup(pattern.first)]
    for hole, text in zip(pattern.holes, pattern.texts[1:], strict=True):
        made += [*values.get(hole.kind, ()), *_markup(text)]
    return tuple(made)


def join(parts: Iterable[Written], first: str, separator: str, last: str) -> Written:
    """The parts with markup before, between and after them."""
    made: list[Piece] = [*_markup(first)]
    for number, part in enumerate(parts):
        made += [*(_markup(separator) if number else ()), *part]
    return (*made, *_markup(last))


def without_prefix(written: Written, prefix: str) -> Written:
    """The pieces without a text that the first one begins with."""
    if not prefix:
        return written
    first = written[0]
    return (Piece(first.text[len(prefix) :], first.is_markup), *written[1:])


def _markup(text: str) -> Written:
    return (Piece(text, True),) if text else ()
