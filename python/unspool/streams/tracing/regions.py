"""Finds the region of each part of an output, for colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from unspool.core.stream.labels import REGIONS
from unspool.core.stream.message import Message
from unspool.streams.parser import Parser

__all__ = ["regions_of", "regions_of_ids"]

Regions = list[tuple[str, str]]


def regions_of(text: str, message: Message, parser: Parser, finish_reason: str) -> Regions:
    """Return the parts of the text, in order, as (kind, text).

    The kinds are those of the audit (content, reasoning, marker, whitespace, malformed). The text of a call is
    divided into "name", "arguments", and "call" for the rest.

    Args:
        message: The whole message, with its audit.
        parser: A new parser for the same request. The text is fed to it byte by byte, to find the arguments.
    """
    kinds = _fates(message)
    raw = text.encode()
    if len(kinds) != len(raw):  # the audit does not cover the text
        return [("content", text)] if text else []
    _find_names_and_arguments(raw, kinds, parser, finish_reason)
    return _joined(text, kinds)


def regions_of_ids(tokens: Sequence[bytes], message: Message) -> Regions:
    """Return the same as `regions_of` for an output of token ids, from the message's labels.

    Args:
        tokens: The text of each token id.
    """
    kinds, text, labels = _fates(message), "".join(part for _, part in message.audit), message.labels
    assert labels is not None
    place = 0
    is_exact = sum(map(len, tokens)) == len(kinds)  # no space was stripped, no character replaced
    for token, region in zip(tokens, labels.regions, strict=False):
        kind = REGIONS[region] if is_exact and REGIONS[region] in ("name", "arguments") else "call"
        for at in range(place, min(place + len(token), len(kinds))):
            if kinds[at] == "tool_call":
                kinds[at] = kind
        place += len(token)
    return _joined(text, ["call" if kind == "tool_call" else kind for kind in kinds])


def _fates(message: Message) -> list[str]:
    """Return the fate of each byte, as in the message's audit."""
    return [fate for fate, part in message.audit for _ in range(len(part.encode()))]


def _joined(text: str, kinds: list[str]) -> Regions:
    """Return the parts of a text, from the kind of each of its bytes."""
    starts = [0]
    for character in text:
        starts.append(starts[-1] + len(character.encode()))
    parts = groupby(zip(text, starts, strict=False), key=lambda item: kinds[item[1]])
    return [(kind, "".join(character for character, _ in part)) for kind, part in parts]


def _find_names_and_arguments(raw: bytes, kinds: list[str], parser: Parser, finish_reason: str) -> None:
    """Replace "tool_call" in `kinds` with "name", "arguments" or "call"."""

    def paint(begin: int, end: int, kind: str) -> None:
        for at in range(begin, end):
            if kinds[at] == "call":
                kinds[at] = kind

    kinds[:] = ["call" if kind == "tool_call" else kind for kind in kinds]
    painted: int | None = None  # end of the open call's arguments so far
    last = 0  # end of the last painted part
    for place in range(len(raw) + 1):
        held = parser.held_bytes  # number of held bytes that the next byte may release
        is_over = place == len(raw)
        deltas = (
            parser.finish(finish_reason).deltas if is_over else parser.parse_chunk(raw[place : place + 1])
        )
        begin, end = max(0, place - held), min(place + 1, len(raw))
        for delta in deltas:
            if delta.kind == "tool_call_begin" and delta.name:
                at, last = _place_of(delta.name.encode(), raw, min(begin, last), end)
                paint(at, last, "name")
                begin, painted = place, None  # text around the name belongs to no argument
            elif delta.kind == "tool_call_arguments":
                is_written = delta.text != "{}" or b"{" in raw[begin:end]
                if painted is None and is_written:
                    painted = begin
                if painted is not None:
                    paint(painted, end - parser.held_bytes, "arguments")
                    last = painted = max(painted, end - parser.held_bytes)


def _place_of(name: bytes, raw: bytes, begin: int, end: int) -> tuple[int, int]:
    """The range of the name's last occurrence as a word between `begin` and `end`; an empty range if there is none."""
    found = (end, end)
    for match in re.finditer(rb"(?<!\w)" + re.escape(name) + rb"(?!\w)", raw[begin:end]):
        found = (begin + match.start(), begin + match.end())
    return found
