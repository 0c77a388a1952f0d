"""Splits a stream into pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

__all__ = ["byte_splits", "pieces_of"]

Stream = TypeVar("Stream", bytes, Sequence[int])


def pieces_of(stream: Stream, cuts: Sequence[int]) -> list[Stream]:
    """Cut the stream at these places; the concatenated pieces equal the stream.

    A repeated place makes an empty piece.
    """
    places = [0, *sorted(cuts), len(stream)]
    return [stream[begin:end] for begin, end in pairwise(places)]


def byte_splits(stream: Stream) -> Iterator[list[Stream]]:
    """Yield the stream as a whole, as single items, and cut in two at every place."""
    yield [stream]
    yield pieces_of(stream, range(1, len(stream)))
    for place in range(1, len(stream)):
        yield pieces_of(stream, [place])
