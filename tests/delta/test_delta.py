"""Delta: plain immutable data, in the wire's shape as objects and as bytes."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from unspool import Delta, Parser

DELTAS = [
    Delta("content", text='Zürich "x" \\ \n\t\x00\x1f 👩‍👩‍👧'),
    Delta("reasoning", text="hm"),
    Delta("reasoning", text="hm", reasoning_field="reasoning"),
    Delta("tool_call_begin", index=0, id="call_1", name='f"'),
    Delta("tool_call_arguments", index=3, text='{"a": "\\u00e9'),
    Delta("tool_call_end", index=0, status="incomplete"),
    Delta("malformed", text="<tool_call>{", reason="no name"),
    Delta("malformed", text="}", index=1, reason="a bracket"),
    Delta("finish", finish_reason="tool_calls", token_span=(3, 5), token_ids=(1, 2)),
]


@pytest.mark.parametrize("delta", DELTAS, ids=repr)
def test_objects_and_bytes_agree(delta: Delta) -> None:
    assert json.loads(delta.json) == delta.to_openai()


def test_shapes() -> None:
    wires = [delta.to_openai() for delta in DELTAS]
    assert wires[1:] == [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {
            "tool_calls": [
                {
                    "index": 0,
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": 'f"', "arguments": ""},
                }
            ]
        },
        {"tool_calls": [{"index": 3, "function": {"arguments": '{"a": "\\u00e9'}}]},
        {},
        {"content": "<tool_call>{"},
        {},
        {},
    ]


@pytest.mark.parametrize("delta", DELTAS, ids=repr)
def test_plain_data(delta: Delta) -> None:
    for other in (pickle.loads(pickle.dumps(delta)), copy.copy(delta), copy.deepcopy(delta)):
        assert other == delta
        assert hash(other) == hash(delta)
        assert repr(other) == repr(delta)
        assert other.json == delta.json
    assert delta != Delta("content", text="else")
    assert delta != "text"
    with pytest.raises(AttributeError):
        delta.text = "new"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "text"}, "kind is 'text'; use one of content, reasoning"),
        ({"kind": "finish", "finish_reason": "eos"}, "finish_reason is 'eos'; use one of stop"),
        ({"kind": "tool_call_end", "index": 0, "status": "ok"}, "status is 'ok'"),
        ({"kind": "tool_call_begin"}, "needs its index"),
        ({"kind": "content", "index": -1}, "index is negative"),
        ({"kind": "content", "text": "\ud800"}, "lone surrogate"),
        ({"kind": "content", "reasoning_field": "x"}, "reasoning_field is 'x'"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Delta(**arguments)


def test_reasoning_field_of_a_parser() -> None:
    parser = Parser("qwen3", reasoning_field="reasoning")
    (delta,) = parser.parse_chunk("<think>a")
    assert delta.to_openai() == {"reasoning": "a"}
    assert parser.finish().to_openai() == {"role": "assistant", "content": None, "reasoning": "a"}
