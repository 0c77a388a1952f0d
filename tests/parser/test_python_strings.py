"""Strings of Python calls: what is escaped as Python has it is whole, whatever it looks like, and code that is not, too."""

from __future__ import annotations

import json
import random

import pytest
import unspool

PARTS = [
    '"', "'", "\\", "\n", "n", "x", "(", ")", "]", "[", ", ", "=", "{", "}", "a", 'f("y")', ", b=", '")', "')]", "U",
    "u00", "\t", ";", ":", "), g(",
]  # fmt: skip
CALL = "<|tool_call_start|>[f(a=%s, n=1), g(b=%s)]<|tool_call_end|>"


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize("write", [repr, json.dumps])
def test_an_escaped_string_is_whole(write: object, repair: bool) -> None:
    draw = random.Random(5)
    for _ in range(500):
        text = "".join(draw.choices(PARTS, k=draw.randint(0, 12)))
        output = CALL % (write(text), write(text))  # type: ignore[operator]
        parser = unspool.Parser("lfm2", repair=repair)
        cut = draw.randrange(len(output))
        for piece in (output[:cut], output[cut:]):
            parser.parse_chunk(piece)
        calls = parser.finish().tool_calls
        assert [(call.name, call.args, call.status, call.repairs) for call in calls] == [
            ("f", {"a": text, "n": 1}, "complete", ()),
            ("g", {"b": text}, "complete", ()),
        ], output


@pytest.mark.parametrize(
    "code",
    [
        'print("hi")',
        'print("a", "b")',
        'd = {"a": 1}',
        'x = ["a", ("b", 2)]',
        'if a == "b":\n    f("c")\n',
        'open("C:\\Users\\x").read("\\d")\n',
        'f("a")(g("b"))',
    ],
)
@pytest.mark.parametrize("more", ["", ", n=1"])
def test_code_that_escapes_nothing_is_whole(code: str, more: str) -> None:
    output = f'<|tool_call_start|>[f(a="{code}"{more}), g()]<|tool_call_end|>'
    for cut in range(len(output)):
        parser = unspool.Parser("lfm2")
        parser.parse_chunk(output[:cut])
        parser.parse_chunk(output[cut:])
        calls = parser.finish().tool_calls
        assert [(call.args, call.repairs) for call in calls] == [
            ({"a": code, **({"n": 1} if more else {})}, ("raw string",)),
            ({}, ()),
        ], output[:cut]
