"""Pieces of written text: the markup of a pattern, and the text in its holes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from unspool._core import Pattern

__all__ = ["Piece", "Written", "as_text", "fill", "join", "text_of", "without_prefix"]


@dataclass(frozen=True)
class Piece:
    """A part of an answer.

    Attributes:
        is_markup: Whether it is a pattern's own text. Markers count only in markup.
    """

    text: str
    is_markup: bool


Written = tuple[Piece, ...]


def as_text(text: str) -> Written:
    """Text without markup."""
    return (Piece(text, False),) if text else ()


def text_of(written: Iterable[Piece]) -> str:
    """The concatenated text."""
    return "".join(piece.text for piece in written)


def fill(pattern: Pattern, values: Mapping[str, Written]) -> Written:
    """The pattern with its holes filled. A hole without a value is empty."""
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
    """The pieces without a prefix of the first one."""
    if not prefix:
        return written
    first = written[0]
    return (Piece(first.text[len(prefix) :], first.is_markup), *written[1:])


def _markup(text: str) -> Written:
    return (Piece(text, True),) if text else ()
