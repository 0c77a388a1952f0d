"""Of two headers in a row, the last counts: its recipient, and its channel."""

from __future__ import annotations

import itertools

import pytest
import unspool
from unspool import FormatFile, Message
from unspool.testing import byte_splits

from ..outputs import render
from .laws import steps, vocabulary

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"name": name, "parameters": SCHEMA} for name in ("get_weather", "look_up")]


def messages_of(file: FormatFile) -> dict[str, str]:
    """A message of each kind, by what it is."""
    return {
        "reasoning": render(file, "Hm?", "", []),
        "content": render(file, "", "Done.", []),
        "get_weather": render(file, "", "", [("get_weather", {"city": "Paris"})]),
        "look_up": render(file, "", "", [("look_up", {"city": "Rome"})]),
    }


def closer_of(file: FormatFile) -> str:
    """What ends the header of every message, or nothing."""
    closers = [text for header in file.facts.headers for text in header.closers if len(text) > 2]
    messages = messages_of(file).values() if closers else ()
    return next((text for text in closers if all(text in message for message in messages)), "")


FILES = [pytest.param(file, id=file.name) for file in unspool.formats() if file.has_tools and closer_of(file)]


def found(message: Message) -> tuple[str, str, list[str]]:
    return message.reasoning, message.content, [c.name for c in message.tool_calls if c.is_complete]


def read(file: FormatFile, pieces: list[bytes]) -> Message:
    parser = unspool.Parser(file, TOOLS)
    for piece in pieces:
        parser.parse_chunk(piece)
    return parser.finish()


def read_ids(file: FormatFile, output: str) -> Message:
    parser = unspool.Parser(file, TOOLS, tokenizer=vocabulary(file.name))
    for _, id in steps(file.name, output):
        parser.parse_chunk(tokens=[id])
    return parser.finish()


@pytest.mark.parametrize(
    ("first", "last"),
    [
        *itertools.permutations(("reasoning", "content"), 2),
        *itertools.permutations(("get_weather", "look_up"), 2),
    ],
)
@pytest.mark.parametrize("file", FILES)
def test_the_last_header_counts(file: FormatFile, first: str, last: str) -> None:
    closer, messages = closer_of(file), messages_of(file)
    header = messages[first].split(closer, 1)[0]
    output = header + messages[last]
    expected = found(read(file, [messages[last].encode()]))
    all_read = [read(file, list(pieces)) for pieces in byte_splits(output.encode())]
    for message in [*all_read, read_ids(file, output)]:
        # A family whose headers have one form takes both as text, to the letter.
        is_text = message.content.startswith(header) and not message.reasoning
        assert found(message) == expected or (is_text and found(message)[2] in ([], expected[2]))
