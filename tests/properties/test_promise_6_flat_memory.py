"""What a stream holds does not grow with what it has emitted. Time is a matter for bench/."""

from __future__ import annotations

import json

import pytest
from unspool import Parser
from unspool.testing.outputs import TOOLS, render

HOSTILE = {
    "plain": "lorem ipsum dolor sit amet ",
    "openers": "<tool_call",
    "closers": "</tool_call</think</parameter",
    "backslashes": "\\\\",
    "braces": "{[",
    "spaces": "    \n",
    "fences": "\n```",
    "closing tags": "</parameter> ",
    "quotes": '\\"',
}


@pytest.mark.parametrize("kind", list(HOSTILE))
@pytest.mark.parametrize("place", ["content", "arguments"])
def test_held_bytes_stay_bounded(format: str, kind: str, place: str) -> None:
    piece = HOSTILE[kind]
    parser = Parser(format, TOOLS, keep_message=False)
    if place == "arguments":
        opened = render(format, "", "", [("get_weather", {"city": "@"})], 1).split("@")[0]
        parser.parse_chunk(opened)
    for _ in range(3000):
        parser.parse_chunk(piece)
        assert parser.held_bytes <= 1024
    parser.finish("length")


def test_depth_is_bounded_not_recursive() -> None:
    parser = Parser("hermes", TOOLS)
    parser.parse_chunk('<tool_call>{"name": "f", "arguments": ')
    parser.parse_chunk('{"a":' * 100_000)
    message = parser.finish()
    assert message.tool_calls[0].status == "malformed"


def test_nested_to_the_bound_is_read() -> None:
    value: object = 1
    for _ in range(400):
        value = [value]
    output = json.dumps({"name": "f", "arguments": {"a": value}})
    message = Parser("hermes").parse(f"<tool_call>{output}</tool_call>")
    assert message.tool_calls[0].status == "complete"
