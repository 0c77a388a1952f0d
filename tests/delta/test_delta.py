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
    Delta("content", text="one more answer", choice=3),
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
        {"content": "one more answer"},
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
        ({"kind": "content", "choice": -1}, "choice is negative; answers are numbered from 0"),
        ({"kind": "content", "choice": 2**31}, "choice is above 2,147,483,647"),
        ({"kind": "content", "choice": -(2**70)}, "choice is negative"),
        ({"kind": "tool_call_end", "index": 2**32}, "index is above 2,147,483,647"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Delta(**arguments)


@pytest.mark.parametrize("choice", [None, True, 1.0, "1"])
def test_choice_is_an_int(choice: Any) -> None:
    with pytest.raises(TypeError, match=r"choice is of type \w+; pass an int"):
        Delta("content", choice=choice)


def test_choice_counts_in_the_value_and_not_on_the_wire() -> None:
    """A chunk holds it beside the delta, as the `index` of its choice."""
    first, second = Delta("content", text="a"), Delta("content", text="a", choice=1)
    assert (first.choice, second.choice) == (0, 1)
    assert first != second
    assert len({first, second, Delta("content", text="a", choice=1)}) == 2
    assert first.to_openai() == second.to_openai()
    assert first.json == second.json
    assert repr(first) == "Delta('content', text='a')"
    assert repr(second) == "Delta('content', text='a', choice=1)"
    assert eval(repr(second)) == second
    with pytest.raises(AttributeError):
        second.choice = 2  # type: ignore[misc]


def test_reasoning_field_of_a_parser() -> None:
    parser = Parser("qwen3", reasoning_field="reasoning")
    (delta,) = parser.parse_chunk("<think>a")
    assert delta.to_openai() == {"reasoning": "a"}
    assert parser.finish().to_openai() == {"role": "assistant", "content": None, "reasoning": "a"}
