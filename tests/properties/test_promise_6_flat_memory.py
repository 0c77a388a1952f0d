"""What a stream holds does not grow with what it has emitted. Time is a matter for bench/."""

from __future__ import annotations

import json

from unspool import Parser

from ..outputs import TOOLS, render

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


def test_held_bytes_stay_bounded(format: str) -> None:
    in_arguments = render(format, "", "", [("get_weather", {"city": "@"})], 1).split("@")[0]
    held = {
        (place, kind): most_held(format, opened, piece)
        for place, opened in (("content", ""), ("arguments", in_arguments))
        for kind, piece in HOSTILE.items()
    }
    assert {what: most for what, most in held.items() if most > 1024} == {}


def most_held(format: str, opened: str, piece: str) -> int:
    """The most bytes that a stream holds while it reads a piece 3,000 times after an opening."""
    # A call in a fence waits for what follows, up to `max_held_bytes`.
    fences = "call" if "```" in opened else "auto"
    parser = Parser(format, TOOLS, keep_message=False, calls_in_fences=fences)
    parser.parse_chunk(opened)
    most = 0
    for _ in range(3000):
        parser.parse_chunk(piece)
        most = max(most, parser.held_bytes)
    parser.finish("length")
    return most


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
