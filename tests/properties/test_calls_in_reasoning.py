"""A call that ends the reasoning leaves the reasoning's closer without a use: it is markup, once."""

from __future__ import annotations

import json

import pytest
import unspool
from unspool import FormatFile, Message
from unspool.testing import byte_splits

from ..outputs import render
from .laws import steps, vocabulary

TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
]
CALL = ("get_weather", {"city": "Paris"})
THOUGHT = "Hm?"


def has_tags(file: FormatFile) -> bool:
    """Whether tags, and not headers, surround the reasoning, and a call with an opener can end it."""
    facts = file.facts
    return (
        file.has_tools
        and facts.reasoning is not None
        and bool(facts.reasoning.closers)
        and bool(facts.section_openers or facts.calls[0].openers)
        and not facts.headers
    )


FILES = [pytest.param(file, id=file.name) for file in unspool.formats() if has_tags(file)]


def parts_of(file: FormatFile) -> tuple[str, str, str]:
    """What is written up to the end of the thought, a call, and what follows the thought."""
    before, after = render(file, THOUGHT, "Done.", []).split(THOUGHT)
    _, called = render(file, THOUGHT, "", [CALL]).split(THOUGHT)
    closer = next(text for text in file.facts.reasoning.closers if text in called)  # type: ignore[union-attr]
    return before + THOUGHT, called.split(closer, 1)[1].removesuffix(file.facts.ends[0]), after


def read_text(file: FormatFile, pieces: list[bytes]) -> Message:
    parser = unspool.Parser(file, TOOLS, tool_calls_in_reasoning="end", id_seed=1)
    for piece in pieces:
        parser.parse_chunk(piece)
    return parser.finish()


def read_ids(file: FormatFile, ids: list[int]) -> Message:
    parser = unspool.Parser(
        file, TOOLS, tokenizer=vocabulary(file.name), tool_calls_in_reasoning="end", id_seed=1
    )
    for id in ids:
        parser.parse_chunk(tokens=[id])
    return parser.finish()


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("file", FILES)
def test_the_closer_after_the_call_is_markup(file: FormatFile, count: int) -> None:
    before, call, after = parts_of(file)
    output = before + call * count + after
    messages = [read_text(file, list(pieces)) for pieces in byte_splits(output.encode())]
    messages.append(read_ids(file, [id for _, id in steps(file.name, output)]))
    for message in messages:
        assert (message.reasoning.rstrip(), message.content) == (THOUGHT, "Done.")
        assert not message.malformed
        calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls if call.is_complete]
        assert calls == [CALL] * count


@pytest.mark.parametrize("file", FILES)
def test_a_closer_after_closed_reasoning_is_text(file: FormatFile) -> None:
    before, call, after = parts_of(file)
    closer = next(text for text in file.facts.reasoning.closers if text in after)  # type: ignore[union-attr]
    output = before + closer + call + f" See {closer}, the tag."
    for pieces in byte_splits(output.encode()):
        message = read_text(file, list(pieces))
        assert message.content.strip() == f"See {closer}, the tag."
