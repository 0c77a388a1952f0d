"""`incomplete_calls` and `stop_in`: a server's options, which a request may change."""

from __future__ import annotations

from typing import Any

import pytest
from unspool import ArgumentError
from unspool.serve import ServeOptions

from .conftest import TOOL, USER, Script, ScriptedModel

pytestmark = pytest.mark.anyio

BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "m", "messages": USER, "tools": [TOOL]},
    "/v1/responses": {"model": "m", "input": "Hello"},
    "/v1/messages": {"model": "m", "messages": USER, "max_tokens": 50},
}


def cut_off(script: Script) -> None:
    script.put('Hi <tool_call>{"name": "whole", "arguments": {}}</tool_call>')
    script.put('<tool_call>{"name": "half", "arguments": {"a": "x')


@pytest.mark.parametrize(("path", "body"), BODIES.items())
@pytest.mark.parametrize("stream", [True, False])
async def test_half_a_call_is_withheld_where_that_is_asked(
    make_client: Any, path: str, body: Any, stream: bool
) -> None:
    body = {**body, "stream": stream}
    for option, sent, is_withheld in (
        ("forward", {}, False),
        ("forward", {"incomplete_calls": "withhold"}, True),
        ("withhold", {}, True),
        ("withhold", {"incomplete_calls": "forward"}, False),
    ):
        client = make_client({"m": ScriptedModel(cut_off)}, incomplete_calls=option)
        answer = await client.post(path, json={**body, **sent})
        assert answer.status_code == 200
        assert "whole" in answer.text
        # Messages has no status, so that a whole body leaves half a call out anyway.
        leaves_out = path == "/v1/messages" and not stream
        assert ("half" not in answer.text) == (is_withheld or leaves_out)


async def test_a_demanded_call_that_is_withheld_is_none(make_client: Any) -> None:
    client = make_client({"m": ScriptedModel(lambda script: script.put('<tool_call>{"name": "f", "arg'))})
    for choice, status in (("forward", 200), ("withhold", 422)):
        body = {**BODIES["/v1/chat/completions"], "tool_choice": "required", "incomplete_calls": choice}
        assert (await client.post("/v1/chat/completions", json=body)).status_code == status


@pytest.mark.parametrize(("path", "body"), BODIES.items())
async def test_where_stop_strings_count_reaches_the_model(make_client: Any, path: str, body: Any) -> None:
    for option, sent, expected in (
        ("content", {}, None),
        ("content", {"stop_in": "everywhere"}, "everywhere"),
        ("everywhere", {}, "everywhere"),
        ("everywhere", {"stop_in": "content"}, None),
    ):
        model = ScriptedModel(cut_off)
        client = make_client({"m": model}, stop_in=option)
        assert (await client.post(path, json={**body, **sent})).status_code == 200
        assert model.asked[0].get("stop_in") == expected


@pytest.mark.parametrize("name", ["incomplete_calls", "stop_in"])
async def test_other_choices_are_refused(make_client: Any, name: str) -> None:
    client = make_client({"m": ScriptedModel(cut_off)})
    for path, body in BODIES.items():
        answer = await client.post(path, json={**body, name: "drop"})
        assert answer.status_code == 422
        assert f"'{name}' is 'drop'; send '" in answer.text
    with pytest.raises(ArgumentError, match=f"{name} is 'drop'; use '"):
        ServeOptions(**{name: "drop"})


async def test_the_demo_stops_in_the_content_alone(make_client: Any) -> None:
    from unspool.serve.models.demo_model import DemoModels

    client = make_client(DemoModels(0.0))
    ask = {
        "model": "hermes:three calls, the middle one without arguments",
        "messages": USER,
        "stop": ["name"],
    }
    whole = (await client.post("/v1/chat/completions", json=ask)).json()["choices"][0]
    assert len(whole["message"]["tool_calls"]) == 3
    cut = (await client.post("/v1/chat/completions", json={**ask, "stop_in": "everywhere"})).json()[
        "choices"
    ][0]
    assert (cut["finish_reason"], cut["message"].get("tool_calls")) == ("stop", None)


def test_the_command_line_has_both() -> None:
    from unspool.__main__ import cli

    assert {"incomplete_calls", "stop_in"} <= {param.name for param in cli.commands["serve"].params}
