"""Arguments are one JSON object when a call ends well, and a prefix of one when it is cut."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unspool import formats, parse

from ..outputs import TOOLS, calls, outputs, render
from .pattern_texts import keyless_values, tagged_values


def completions(prefix: str) -> list[str]:
    """Ways in which a cut JSON text could go on, the shortest that close it."""
    stack: list[str] = []
    in_string = False
    skip = False
    for letter in prefix:
        if skip:
            skip = False
        elif in_string:
            skip = letter == "\\"
            in_string = letter != '"'
        elif letter == '"':
            in_string = True
        elif letter in "{[":
            stack.append("}" if letter == "{" else "]")
        elif letter in "}]":
            stack.pop()
    closers = "".join(reversed(stack))
    string_ends = ['"', 'n"', '0000"', '000"', '00"', '0"'] if in_string else [""]
    values = ["", ": 0", "0", ' "k": 0', "rue", "ue", "e", "alse", "lse", "se", "ull", "ll", "l"]
    return [prefix + end + value + closers for end in string_ends for value in values]


def is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


@given(data=st.data())
def test_arguments(format: str, data: st.DataObject) -> None:
    output = data.draw(outputs(format))
    message = parse(output, format, TOOLS, finish_reason=data.draw(st.sampled_from(["stop", "length"])))
    for call in message.tool_calls:
        if call.status == "complete":
            assert is_json_object(call.arguments), call
        else:
            whole = [call.arguments, *completions(call.arguments), "{" + call.arguments + "}"]
            assert any(map(is_json_object, whole)), call


def edges(format: str) -> set[str]:
    """What the format takes off a value's edges: "space", "newline", or nothing."""
    found = set()
    for before, after in (*tagged_values(format), *keyless_values(format)):
        ends = {"space": (" ", " "), "newline": ("\n", "\n")}
        found |= {kind for kind, (a, b) in ends.items() if before.endswith(a) and after.startswith(b)}
    return found


def is_keyless(format: str) -> bool:
    """Whether a value stands without a key: such a format writes calls to tools with one parameter."""
    return bool(keyless_values(format))


def with_one_argument(made: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    return [(name, {"city": given["city"]} if given.get("city", "").strip() else {}) for name, given in made]


def lines_are_optional(format: str) -> bool:
    """Whether a value may have lines of its own, or none: then a line break before it may be markup."""
    kinds = {(before.endswith("\n"), after.startswith("\n")) for before, after in tagged_values(format)}
    return len(kinds) > 1


def without_first_line_break(value: Any) -> Any:
    """A text that begins with a line break has no form without lines of its own."""
    return re.sub(r"\A(\r?\n)+", "", value) if isinstance(value, str) else value


def with_end(value: Any, end: str) -> Any:
    return value + end if isinstance(value, str) else value


CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
ONE_PARAMETER = [
    {"type": "function", "function": {"name": "get_weather", "parameters": CITY}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
]


def trimmed(format: str, value: Any, output: str) -> Any:
    """A text as it comes back: the edge's white space is the template's, a CR before its line break too."""
    if not isinstance(value, str):
        return value
    if "space" in edges(format):
        return value.strip(" \t\r\n")
    before_line_break = "newline" in edges(format) and f"{value}\n" in output
    return value.removesuffix("\r") if before_line_break else value


@pytest.mark.parametrize("format", [file.name for file in formats() if file.has_tools])
@given(data=st.data())
def test_valid_calls_come_through(format: str, data: st.DataObject) -> None:
    """What a template writes is what the parser reads: names, values and their types."""
    made: list[tuple[str, dict[str, Any]]] = data.draw(calls())
    if is_keyless(format):
        made = with_one_argument(made)
    end = data.draw(st.sampled_from(["", "\n", "\r\n", "\n\n", "\n  "]))
    made = [(name, {key: with_end(value, end) for key, value in given.items()}) for name, given in made]
    if lines_are_optional(format):
        made = [
            (name, {key: without_first_line_break(value) for key, value in given.items()})
            for name, given in made
        ]
    output = render(format, "", "", made, data.draw(st.integers(0, 1)))
    message = parse(output, format, ONE_PARAMETER if is_keyless(format) else TOOLS)
    wanted = [
        (name, {key: trimmed(format, value, output) for key, value in given.items()}) for name, given in made
    ]
    assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == wanted
    assert message.finish_reason == "tool_calls"
    assert not message.malformed
