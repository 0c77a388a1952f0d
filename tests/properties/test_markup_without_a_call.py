"""Markup that no call comes of stays in the content, to the letter, and is reported with a reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import unspool
from unspool import FormatFile, Message
from unspool.testing import byte_splits

from ..outputs import render
from .laws import steps, untold, vocabulary

TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
]
CALL = ("get_weather", {"city": "Paris"})


def broken(file: FormatFile) -> Iterator[str]:
    """A section with prose in it, one whose call has no name, and both cut."""
    facts = file.facts
    answer = render(file, "", "", [CALL])
    opener = next((text for text in facts.section_openers if text in answer), None)
    closer = next((text for text in facts.section_closers if text in answer), None)
    if opener is None or closer is None:
        return
    begin, end = answer.index(opener), answer.index(closer) + len(closer)
    section = answer[begin:end]
    yield opener + "\nno call\n" + closer
    yield section.replace("get_weather", "two words")
    yield section[: section.index("get_weather") + 3]


CASES = [
    pytest.param(file, text, id=f"{file.name}: {number}")
    for file in unspool.formats()
    if file.has_tools and not any(header.names_tool for header in file.facts.headers)
    for number, text in enumerate(broken(file))
]


def read(file: FormatFile, pieces: list[bytes]) -> Message:
    parser = unspool.Parser(file, TOOLS, start_in="content", audit=True)
    for piece in pieces:
        parser.parse_chunk(piece)
    return parser.finish()


def read_ids(file: FormatFile, output: str) -> Message:
    parser = unspool.Parser(file, TOOLS, tokenizer=vocabulary(file.name), start_in="content", audit=True)
    for _, id in steps(file.name, output):
        parser.parse_chunk(tokens=[id])
    return parser.finish()


@pytest.mark.parametrize(("file", "text"), CASES)
def test_it_is_content_and_reported(file: FormatFile, text: str) -> None:
    messages = [read(file, list(pieces)) for pieces in byte_splits(text.encode())]
    for message in [*messages, read_ids(file, text)]:
        assert not message.tool_calls
        assert message.content == text
        assert "".join(item.text for item in message.malformed) == text
        assert all(item.text and item.reason for item in message.malformed)
        assert not untold(message, text)
