"""Tokens to label: a format's markers are tokens, and the text between them is cut as a test likes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import unspool
from unspool import Labels, Message, TokenStreamer, Vocabulary
from unspool.core.stream.labels import REGIONS
from unspool.testing.cases import Case

END = "</stop>"


class Tokens(NamedTuple):
    """Ids, the bytes of each, and the vocabulary that has them."""

    ids: list[int]
    pieces: list[bytes]
    vocabulary: Vocabulary


def cut(
    format: str, text: str, sizes: Callable[[], int] = lambda: 1, known_markers: Sequence[str] | None = None
) -> Tokens:
    """Markers as tokens, and an end; `sizes` says of how many bytes the next token is.

    The tokens are the format's own, or `known_markers`.
    """
    if known_markers is None:
        known_markers = unspool.get_format(format).facts.marker_tokens
    markers = [*known_markers, END]
    pattern = "|".join(re.escape(marker) for marker in sorted(markers, key=len, reverse=True))
    pieces: list[bytes] = []
    for part in re.split(f"({pattern})", text + END):
        if part in markers:
            pieces.append(part.encode())
            continue
        raw = part.encode()
        while raw:
            size = sizes()
            pieces.append(raw[:size])
            raw = raw[size:]
    known = {marker.encode(): number for number, marker in enumerate(markers)}
    for piece in pieces:
        known.setdefault(piece, len(known))
    added = [(number, marker, marker, marker == END) for number, marker in enumerate(markers)]
    return Tokens([known[piece] for piece in pieces], pieces, Vocabulary(known, added, is_bytes=True))


def stream(tokens: Tokens, case: Case, **options: Any) -> TokenStreamer:
    """A stream that labels."""
    tools = None if case.tools is None else list(case.tools)
    given = {"labels": True, "id_seed": 5, **case.options, **options}
    return TokenStreamer(tokens.vocabulary, case.format, tools, **given)


def read(tokens: Tokens, case: Case, **options: Any) -> Message:
    """The message of a stream that gets all ids at once."""
    streamer = stream(tokens, case, **options)
    streamer.put(tokens.ids)
    return streamer.finish(case.finish_reason)


def labels_of(message: Message) -> Labels:
    """The message's labels, which are there."""
    assert message.labels is not None
    return message.labels


def joined(tokens: Tokens, labels: Labels, region: str, call: int | None = None) -> str:
    """The bytes of the tokens that are in a region."""
    chosen: Sequence[bytes] = [
        piece
        for piece, number, index in zip(tokens.pieces, labels.regions, labels.calls, strict=True)
        if REGIONS[number] == region and (call is None or index == call)
    ]
    return b"".join(chosen).decode()
