"""Where a message that was read differs from the one that was meant."""

from __future__ import annotations

import json
from typing import Any

import pytest
from unspool import MalformedText, Message, ToolCall
from unspool.writing.render.given_answer import read_answer
from unspool.writing.render.read_back import what_differs


def message(*arguments: Any, status: Any = "complete", name: str = "f", **parts: Any) -> Message:
    """A parsed message with a call for each of the arguments."""
    calls = tuple(ToolCall("id", name, json.dumps(one), status) for one in arguments)
    return Message(**{"content": "", "reasoning": "", "finish_reason": "stop", **parts, "tool_calls": calls})


@pytest.mark.parametrize(
    ("meant", "read", "difference"),
    [
        (message({"a": 1}), message({"a": 1.0}), None),
        (message({"a": True}), message({"a": 1}), "call 0 (f): 'a' in the arguments: True parses as 1"),
        (
            message({"a": [1, "2"]}),
            message({"a": [1, 2]}),
            "item 1 of 'a' in the arguments: '2' parses as 2",
        ),
        (message({"a": {}}), message({"a": []}), "'a' in the arguments: {} parses as []"),
        (message({"a": 1}), message({"b": 1}), "the arguments: {'a': 1} parses as {'b': 1}"),
        (message({}, {}), message({}), "call 1 (f): only 1 of 2 calls are read"),
        (message({}), message({}, {}), "this message: 2 calls are read, not 1"),
        (message({}), message({}, name="g"), "the name parses as 'g'"),
        (message({}), message({}, status="malformed"), "it parses as malformed"),
        (message(content="a"), message(content="a "), "the content 'a': it parses as 'a '"),
        (message(reasoning="a"), message(reasoning=""), "the reasoning 'a': it parses as ''"),
        (message(), message(malformed=(MalformedText("<c>", "why", None),)), "malformed are '<c>'"),
        (message(malformed=(MalformedText("<c>", "why", None),)), message(), "malformed are none"),
        (message(content="a" * 99), message(content="b"), f"the content '{'a' * 58}…: it parses"),
    ],
)
def test_the_first_difference_is_named(meant: Message, read: Message, difference: str | None) -> None:
    found = what_differs(read_answer(meant), read, exact=True)
    assert found is None if difference is None else difference in str(found)


def test_white_space_at_the_ends_counts_only_if_it_is_asked_for() -> None:
    meant, read = read_answer(message(content="a", reasoning="b")), message(content="a\n", reasoning="b ")
    assert what_differs(meant, read, exact=True) is not None
    assert what_differs(meant, read, exact=False) is None


def test_an_id_counts_where_it_is_written() -> None:
    meant, read = read_answer(message({})), message({})
    assert what_differs(meant, read, exact=True, ids=["id"]) is None
    assert what_differs(meant, read, exact=True, ids=[""]) is None
    found = what_differs(meant, read, exact=True, ids=["other"])
    assert found == "call 0 (f): the id 'other' parses as 'id'"
