"""The same requests through each engine: every wire, streamed and whole, has what the model wrote."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from .engines import Served
from .suite import SUITE, TOOLS, Turn
from .wires import WIRES


def ask(served: Served, turn: Turn, is_streamed: bool) -> Any:
    """The answers of a turn as a client assembles them."""
    wire, body = WIRES[turn.wire], served.stage.book.body(turn)
    path = wire.path
    if is_streamed:
        path, body = wire.streamed(body)
    answer = httpx.post(f"{served.url}{path}", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    n = turn.scenario.n
    return wire.read_stream(answer.content, n) if is_streamed else wire.read_whole(answer.json())


@pytest.mark.parametrize("turn", SUITE, ids=str)
def test_each_wire_has_what_the_model_wrote(served: Served, turn: Turn) -> None:
    check_answers(served, turn)


def check_answers(served: Served, turn: Turn) -> None:
    """Whole and streamed, they are the scenario's."""
    whole, streamed = ask(served, turn, False), ask(served, turn, True)
    assert streamed == whole
    scenario = turn.scenario
    if not scenario.is_forced:
        assert whole == [scenario.expected(turn.wire)] * scenario.n
        return
    (answer,) = whole
    if scenario.ask.tools:
        check_calls(answer.calls, scenario.ask.choice)
    else:
        assert answer.content
        assert answer.content != scenario.output


def check_calls(calls: Any, choice: str) -> None:
    """They are what the tools' schemas admit."""
    import jsonschema

    assert calls
    for call in calls:
        assert choice in ("required", "auto", call.name)
        (tool,) = (tool for tool in TOOLS if tool["name"] == call.name)
        jsonschema.validate(json.loads(call.arguments), tool["parameters"])
