"""Custom tools in chat completions and Responses: asked for, streamed, sent back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from unspool import StreamGenerator

from .conftest import USER, Script, ScriptedModel, events_of

pytestmark = pytest.mark.anyio

INPUT = '+"a" \\ é😀\n\t-b'
OUTPUT = f"<tool_call>\n{json.dumps({'name': 'edit', 'arguments': {'input': INPUT}})}\n</tool_call>"
FORMAT = {"type": "grammar", "syntax": "regex", "definition": "[ab]{3}"}
CHAT_TOOL = {"type": "custom", "custom": {"name": "edit", "description": "Edits."}}
TOOL = {"type": "custom", "name": "edit", "description": "Edits."}
CHAT = {"model": "m", "messages": USER}
RESPONSES = {"model": "m", "input": "Hello"}


def scripted(output: str = OUTPUT) -> ScriptedModel:
    def body(script: Script) -> None:
        for at in range(0, len(output), 3):
            script.put(output[at : at + 3])

    return ScriptedModel(body, "hermes")


async def test_chat_completions(make_client: Any) -> None:
    client = make_client({"m": scripted()})
    answer = (await client.post("/v1/chat/completions", json={**CHAT, "tools": [CHAT_TOOL]})).json()
    (call,) = answer["choices"][0]["message"]["tool_calls"]
    assert (call["type"], call["custom"]) == ("custom", {"name": "edit", "input": INPUT})
    assert "function" not in call
    assert answer["choices"][0]["finish_reason"] == "tool_calls"


async def test_chat_completions_streamed(make_client: Any) -> None:
    client = make_client({"m": scripted()})
    streamed = await client.post("/v1/chat/completions", json={**CHAT, "tools": [CHAT_TOOL], "stream": True})
    deltas = [data["choices"][0]["delta"] for _, data in events_of(streamed.text) if isinstance(data, dict)]
    entries = [entry for delta in deltas for entry in delta.get("tool_calls", ())]
    assert (entries[0]["type"], entries[0]["custom"]["name"], entries[0]["index"]) == ("custom", "edit", 0)
    assert all("type" not in entry and "name" not in entry["custom"] for entry in entries[1:])
    assert "".join(entry["custom"]["input"] for entry in entries) == INPUT


async def test_responses(make_client: Any) -> None:
    client = make_client({"m": scripted()})
    answer = (await client.post("/v1/responses", json={**RESPONSES, "tools": [TOOL]})).json()
    (item,) = answer["output"]
    assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "edit", INPUT)


async def test_responses_streamed(make_client: Any) -> None:
    client = make_client({"m": scripted()})
    streamed = await client.post("/v1/responses", json={**RESPONSES, "tools": [TOOL], "stream": True})
    events = [data for _, data in events_of(streamed.text) if isinstance(data, dict)]
    texts = [one["delta"] for one in events if one["type"] == "response.custom_tool_call_input.delta"]
    (done,) = [one for one in events if one["type"] == "response.custom_tool_call_input.done"]
    assert "".join(texts) == done["input"] == INPUT
    added, item = (one["item"] for one in events if one["type"].startswith("response.output_item."))
    assert (added["type"], added["input"], item["input"]) == ("custom_tool_call", "", INPUT)
    assert done["item_id"] == item["id"]
    assert not any("function_call" in one["type"] for one in events)


async def test_what_is_sent_back_reaches_the_model(make_client: Any) -> None:
    chat, responses = scripted(), scripted()
    call = {"id": "c1", "type": "custom", "custom": {"name": "edit", "input": "+x"}}
    messages = [*USER, {"role": "assistant", "tool_calls": [call]}]
    messages.append({"role": "tool", "tool_call_id": "c1", "content": "done"})
    sent = await make_client({"m": chat}).post("/v1/chat/completions", json={**CHAT, "messages": messages})
    assert sent.status_code == 200, sent.text
    items = [
        {"role": "user", "content": "Hello"},
        {
            "type": "custom_tool_call",
            "call_id": "c1",
            "name": "edit",
            "input": "+x",
            "id": "ctc_1",
            "status": "completed",
        },
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"},
    ]
    sent = await make_client({"m": responses}).post("/v1/responses", json={**RESPONSES, "input": items})
    assert sent.status_code == 200, sent.text
    for model in (chat, responses):
        prompt = model.asked[-1]["prompt"]
        (shown,) = prompt[1]["tool_calls"]
        arguments = shown["function"]["arguments"]
        assert (json.loads(arguments) if isinstance(arguments, str) else arguments) == {"input": "+x"}
        assert (prompt[2]["content"], prompt[2]["tool_call_id"]) == ("done", shown["id"])


@pytest.mark.parametrize(
    ("path", "body", "tool", "choice"),
    [
        ("/v1/chat/completions", CHAT, CHAT_TOOL, {"type": "custom", "custom": {"name": "edit"}}),
        ("/v1/responses", RESPONSES, TOOL, {"type": "custom", "name": "edit"}),
    ],
)
async def test_a_grammar_is_enforced(
    make_client: Any, generator: StreamGenerator, path: str, body: Any, tool: Any, choice: Any
) -> None:
    part = tool.get("custom", tool)
    limit = {"max_tokens": 700} if "messages" in body else {"max_output_tokens": 700}
    asked = {**tool, "custom": {**part, "format": FORMAT}} if "custom" in tool else {**tool, "format": FORMAT}
    answer = await make_client({"m": generator}).post(
        path, json={**body, **limit, "tools": [asked], "tool_choice": choice, "parallel_tool_calls": False}
    )
    assert answer.status_code == 200, answer.text
    found = answer.json()
    call = (
        found["choices"][0]["message"]["tool_calls"][0]["custom"]
        if "choices" in found
        else found["output"][-1]
    )
    assert set(call["input"]) <= set("ab")
    assert len(call["input"]) == 3


@pytest.mark.parametrize(
    ("format", "why"),
    [
        ({"type": "ebnf"}, "has no type"),
        ({"type": "grammar", "syntax": "lark"}, "needs a syntax"),
        ({"type": "grammar", "syntax": "lark", "definition": "start: ("}, "cannot be read"),
        ({"type": "grammar", "syntax": "regex", "definition": "(?=a)"}, "looks ahead"),
    ],
)
async def test_a_format_that_cannot_be_read_is_the_clients_error(
    make_client: Any, format: Any, why: str
) -> None:
    client = make_client({"m": scripted()})
    answer = await client.post("/v1/responses", json={**RESPONSES, "tools": [{**TOOL, "format": format}]})
    assert answer.status_code == 400
    assert why in answer.json()["error"]["message"]


async def test_a_text_that_does_not_match_is_an_error(make_client: Any) -> None:
    client = make_client({"m": scripted()})
    answer = await client.post("/v1/responses", json={**RESPONSES, "tools": [{**TOOL, "format": FORMAT}]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_answer")
