"""The formats' examples, and a synthetic vocabulary to replay them as token ids."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from unspool._core import Vocabulary
from unspool.formats.format_file import FormatFile, get_format

__all__ = ["Demo", "demo_of", "embedded_tokens"]

_TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        },
    },
    {"name": "now", "parameters": {"type": "object", "properties": {}}},
]


@dataclass(frozen=True)
class Demo:
    """An output in a format."""

    format: str
    output: str
    tools: list[dict[str, Any]]


def demo_of(file: FormatFile) -> Demo:
    """Return the first example of a format file, with the tools that it calls."""
    return Demo(file.name, file.examples[0]["input"], _TOOLS)


# The pieces of a synthetic tokenizer: words with the space before them, numbers, punctuation, single non-ASCII bytes.
_PIECE = re.compile(rb" ?[A-Za-z]{1,6}|[0-9]{1,3}|[^A-Za-z0-9\x80-\xff]{1,2}|[\x80-\xff]")


def embedded_tokens(demo: Demo) -> tuple[Vocabulary, list[int]]:
    """Return a vocabulary in which the format's markers are tokens, and the demo's output as token ids."""
    markers = sorted(get_format(demo.format).facts.marker_tokens, key=len, reverse=True)
    ids: list[int] = []
    table: dict[bytes, int] = {}
    added = {marker: 1_000_000 + i for i, marker in enumerate(markers)}
    pattern = re.compile("|".join(map(re.escape, markers)) or "(?!)")
    place = 0
    for match in [*pattern.finditer(demo.output), None]:
        text = demo.output[place : match.start() if match else len(demo.output)]
        for piece in _PIECE.findall(text.encode()):
            ids.append(table.setdefault(piece, len(table)))
        if match:
            ids.append(added[match.group()])
            place = match.end()
    vocabulary = Vocabulary(table, [(id, text, text, True) for text, id in added.items()], is_bytes=True)
    return vocabulary, ids
