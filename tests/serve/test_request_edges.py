"""Edges of JSON: types that are near, names that come twice, nulls, and values that are passed on to the letter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import TOOL, USER, ScriptedModel

pytestmark = pytest.mark.anyio

CHAT = {"model": "m", "messages": USER}
RESPONSE = {"model": "m", "input": "Hello"}
MESSAGE = {"model": "m", "messages": USER, "max_tokens": 50}


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(lambda script: script.put("Hi"))


@pytest.fixture
def client(make_client: Any, model: ScriptedModel) -> Any:
    return make_client({"m": model})


@pytest.fixture
def strict(make_client: Any, model: ScriptedModel) -> Any:
    return make_client({"m": model}, strict_requests=True)


WRONG: list[tuple[str, Any, str]] = [
    ("/v1/chat/completions", {**CHAT, "max_tokens": True}, "max_tokens"),
    ("/v1/chat/completions", {**CHAT, "max_tokens": 5.0}, "max_tokens"),
    ("/v1/chat/completions", {**CHAT, "temperature": False}, "temperature"),
    ("/v1/chat/completions", {**CHAT, "n": "2"}, "n"),
    ("/v1/chat/completions", {**CHAT, "stream": 1}, "stream"),
    ("/v1/chat/completions", {**CHAT, "stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
    ("/v1/chat/completions", {**CHAT, "seed": 10**30}, "seed"),
    ("/v1/chat/completions", {**CHAT, "stop": ["a", 1]}, "stop"),
    ("/v1/chat/completions", {**CHAT, "tools": [{"type": "function"}]}, "tools[0].function.name"),
    ("/v1/chat/completions", {**CHAT, "tools": [{"function": {"name": "f", "strict": 1}}]},
     "tools[0].function.strict"),
    ("/v1/chat/completions", {**CHAT, "response_format": {"type": "json_schema", "json_schema": {"x": 1}}},
     "response_format.json_schema.x"),
    ("/v1/completions", {"model": "m", "prompt": [1, True]}, "prompt"),
    ("/v1/completions", {"model": "m", "prompt": [1.0]}, "prompt"),
    ("/v1/responses", {**RESPONSE, "reasoning": {"effort": 1}}, "reasoning.effort"),
    ("/v1/responses", {**RESPONSE, "text": {"format": {"schema": {}}}}, "text.format.type"),
    ("/v1/messages", {**MESSAGE, "thinking": {"type": "often"}}, "thinking.type"),
    ("/v1/messages", {**MESSAGE, "thinking": {"type": "enabled", "budget_tokens": True}}, "thinking.budget_tokens"),
    ("/v1/messages", {**MESSAGE, "tools": [{"name": "f", "input_schema": []}]}, "tools[0].input_schema"),
    ("/v1/messages", {**MESSAGE, "tool_choice": {"type": "tool"}}, "tool_choice.name"),
    ("/detokenize", {"model": "m", "tokens": [1, 2.0]}, "tokens"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "param"), WRONG)
async def test_a_type_that_is_near_is_not_converted(client: Any, path: str, body: Any, param: str) -> None:
    answer = await client.post(path, json=body)
    assert answer.status_code == 422
    assert f"'{param}'" in answer.json()["error"]["message"] or param == "seed"
    if path != "/v1/messages":
        assert answer.json()["error"]["param"] == param


async def test_integers_are_numbers_and_large_ones_stay(client: Any, model: ScriptedModel) -> None:
    body = {**CHAT, "temperature": 1, "presence_penalty": -1, "max_tokens": 2**63, "seed": 2**64 - 1}
    answer = await client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    asked = model.asked[0]["sampling"]
    assert (asked.temperature, asked.max_tokens, asked.seed) == (1.0, 2**63, 2**64 - 1)


async def test_an_integer_above_all_floats_is_422(client: Any) -> None:
    answer = await client.post("/v1/chat/completions", json={**CHAT, "temperature": 10**400})
    assert answer.status_code == 422
    assert answer.json()["error"]["param"] == "temperature"


async def test_an_error_names_the_value(strict: Any) -> None:
    for field, said in (
        ({"top_p": 1.5}, "'top_p' is 1.5; it must be at most 1"),
        ({"top_k": "x"}, "'top_k' is 'x', a string; send an integer"),
        ({"stop": ["a", 5]}, "'stop' has 5 at index 1; send a string"),
        ({"tools": [{"function": {}}]}, "'tools[0].function.name' is missing"),
        (
            {"messages": [{"role": "robot"}]},
            "'messages[0].role' is 'robot'; send 'system', 'developer', 'user',",
        ),
        ({"stream_options": {"x - at `$.y`": 1}}, "unknown field: 'stream_options.x - at `$.y`'"),
        ({"x - at `$.y`": 1}, "unknown field"),
    ):
        answer = await strict.post("/v1/chat/completions", json={**CHAT, **field})
        assert answer.status_code == 422
        assert said in answer.json()["error"]["message"]


async def test_the_last_of_two_fields_of_one_name_counts(client: Any, model: ScriptedModel) -> None:
    raw = b'{"model": "x", "prompt": 5, "frob": 1, "prompt": "Hello", "model": "m", "frob": null}'
    answer = await client.post("/v1/completions", content=raw)
    assert answer.status_code == 200, answer.text
    assert model.asked[0]["prompt"] == "Hello"


@pytest.mark.parametrize("depth", [127, 128])
async def test_128_levels_are_the_most(client: Any, depth: int) -> None:
    raw = json.dumps({**CHAT, "metadata": {"a": 1}}).replace("1", "[" * depth + "]" * depth)
    answer = await client.post("/v1/chat/completions", content=raw)
    assert answer.status_code == (200 if depth == 127 else 422)


def nested(value: Any) -> list[tuple[str, Any]]:
    """A body of each protocol with a field `frob` at each level that has its own fields."""
    text = {"type": "text", "text": "x", "frob": value}
    tool = {"type": "function", "frob": value, "function": {"name": "f", "frob": value}}
    schema = {"name": "s", "schema": {}, "frob": value}
    chat = [
        {"role": "user", "content": [text], "frob": value},
        {"role": "assistant", "content": "x", "frob": value},
    ]
    item = {"type": "function_call", "call_id": "c", "name": "f", "frob": value}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [text], "frob": value}
    flat = {"type": "json_schema", "schema": {}, "frob": value}
    return [
        ("/v1/chat/completions", {**CHAT, "messages": chat}),
        ("/v1/chat/completions", {**CHAT, "tools": [tool]}),
        ("/v1/chat/completions", {**CHAT, "response_format": {"type": "text", "json_schema": schema}}),
        ("/v1/chat/completions", {**CHAT, "stream": True, "stream_options": {"frob": value}}),
        ("/v1/responses", {**RESPONSE, "input": [item]}),
        ("/v1/responses", {**RESPONSE, "tools": [{"type": "function", "name": "f", "frob": value}]}),
        ("/v1/responses", {**RESPONSE, "reasoning": {"frob": value}, "text": {"frob": value}}),
        ("/v1/messages", {**MESSAGE, "messages": [{"role": "user", "content": [result], "frob": value}]}),
        ("/v1/messages", {**MESSAGE, "tools": [{"name": "f", "frob": value}]}),
        ("/v1/messages", {**MESSAGE, "thinking": {"type": "enabled", "frob": value}}),
        ("/v1/messages", {**MESSAGE, "output_config": {"format": {**flat, "type": "text"}}}),
    ]


@pytest.mark.parametrize("number", range(11))
async def test_an_unknown_field_at_any_level_is_refused_or_said_unless_it_is_null(
    client: Any, strict: Any, number: int
) -> None:
    path, body = nested(1)[number]
    answer = await strict.post(path, json=body)
    assert answer.status_code == 422
    assert ".frob'" in answer.json()["error"]["message"]
    answer = await client.post(path, json=body)
    if "format" in str(body):  # what an answer is kept to is never half known
        assert answer.status_code == 422
    else:
        assert answer.status_code == 200
        assert all(name.endswith(".frob") for name in answer.headers["x-unspool-ignored"].split(", "))
    path, body = nested(None)[number]
    answer = await strict.post(path, json=body)
    assert answer.status_code == 200


SCHEMA = {
    "type": "object",
    "required": ["b"],
    "properties": {"b": {"default": None, "enum": [None, 1.0, 10**25]}, "a": {"const": None}},
}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {**CHAT, "tools": [{"function": {"parameters": SCHEMA, "strict": None, "name": "f"}}]}),
        ("/v1/responses", {**RESPONSE, "tools": [{"parameters": SCHEMA, "type": "function", "name": "f"}]}),
    ],
)  # fmt: skip
async def test_a_tools_definition_stays_in_its_order_with_its_nulls(
    client: Any, model: ScriptedModel, path: str, body: Any
) -> None:
    assert (await client.post(path, json=body)).status_code == 200
    function = {"parameters": SCHEMA, "name": "f"}
    assert json.dumps(model.asked[0]["tools"]) == json.dumps([{"type": "function", "function": function}])


async def test_arguments_keep_their_nulls_and_numbers(client: Any, model: ScriptedModel) -> None:
    value = {"b": None, "a": [1.0, 10**25, {"z": None}]}
    call = {"id": "c", "function": {"name": "f", "arguments": json.dumps(value)}}
    messages = [
        *USER,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": ""},
    ]
    assert (await client.post("/v1/chat/completions", json={**CHAT, "messages": messages})).status_code == 200
    use = {"type": "tool_use", "id": "c", "name": "f", "input": value}
    result = {"type": "tool_result", "tool_use_id": "c"}
    turns = [*USER, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    assert (await client.post("/v1/messages", json={**MESSAGE, "messages": turns})).status_code == 200
    for asked in model.asked:
        arguments = asked["prompt"][1]["tool_calls"][0]["function"]["arguments"]
        assert json.dumps(arguments) == json.dumps(value)


async def test_a_response_repeats_its_request_to_the_letter(client: Any) -> None:
    tool = {"strict": None, "name": "f", "type": "function", "parameters": SCHEMA}
    body = {**RESPONSE, "tools": [tool], "text": {"verbosity": None}, "metadata": {"a": "b"}, "top_p": 1}
    answer = (await client.post("/v1/responses", json=body)).json()
    for name in ("tools", "text", "metadata", "top_p"):
        assert json.dumps(answer[name]) == json.dumps(body[name])


@pytest.mark.parametrize(
    ("name", "value", "param"),
    [
        ("verbosity", "low", "verbosity"),
        ("messages", [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], "messages[0].content[0]"),
        ("messages", [{"role": "assistant", "audio": {"id": "a"}}], "messages[0].audio"),
        ("tools", [{"type": "web_search", "custom": {}}], "tools[0]"),
        ("functions", False, "functions"),
    ],
)  # fmt: skip
async def test_what_is_not_supported_is_named_before_what_is_unknown(
    strict: Any, name: str, value: Any, param: str
) -> None:
    answer = await strict.post("/v1/chat/completions", json={**CHAT, name: value})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param


@pytest.mark.parametrize(
    "raw", [b'{"model": "m", "messages": [{"role": "user", "content": "\xff"}]}', b"{\x00}"]
)
async def test_a_body_that_is_not_utf8_or_no_json_is_422(client: Any, raw: bytes) -> None:
    answer = await client.post("/v1/chat/completions", content=raw)
    assert answer.status_code == 422
    assert "not JSON" in answer.json()["error"]["message"]
    assert answer.json()["error"]["param"] is None


async def test_the_tool_that_is_offered_is_as_it_was(client: Any, model: ScriptedModel) -> None:
    body = {**CHAT, "tools": [{**TOOL, "cache_control": {"type": "ephemeral"}}]}
    assert (await client.post("/v1/chat/completions", json=body)).status_code == 200
    assert model.asked[0]["tools"] == [TOOL]
