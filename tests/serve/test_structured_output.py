"""An answer has the form that its request asks for, or the error says why not, in every protocol."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from unspool import StreamGenerator

from .conftest import USER, Script, ScriptedModel, events_of

pytestmark = pytest.mark.anyio

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"enum": ["Paris", "Oslo"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA, "strict": True}}
CHAT = {"model": "m", "messages": USER, "max_tokens": 700}
INPUT = {"model": "m", "input": "Hello", "max_output_tokens": 700}
JSON_SCHEMA = {"type": "json_schema", "name": "weather", "schema": SCHEMA, "strict": True}
NESTED = {"type": "json_schema", "json_schema": {"name": "weather", "schema": SCHEMA, "strict": True}}

REQUESTS = [
    ("/v1/chat/completions", {**CHAT, "response_format": NESTED}),
    ("/v1/responses", {**INPUT, "text": {"format": JSON_SCHEMA}}),
    ("/v1/messages", {**CHAT, "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    ("/v1/messages", {**CHAT, "output_format": {"type": "json_schema", "schema": SCHEMA}}),
]


def text_of(path: str, body: Any) -> str:
    if path.endswith("completions"):
        return str(body["choices"][0]["message"]["content"])
    if path.endswith("responses"):
        return "".join(part["text"] for item in body["output"] for part in item.get("content", ()))
    return "".join(block["text"] for block in body["content"])


def streamed_text(path: str, text: str) -> str:
    found = ""
    for _, data in events_of(text):
        if not isinstance(data, dict):
            continue
        if path.endswith("completions"):
            found += "".join(choice["delta"].get("content") or "" for choice in data["choices"])
        elif path.endswith("responses"):
            found += data["delta"] if data["type"] == "response.output_text.delta" else ""
        elif data["type"] == "content_block_delta":
            found += data["delta"].get("text", "")
    return found


def fits(text: str) -> bool:
    value = json.loads(text)
    return value["city"] in ("Paris", "Oslo") and 1 <= value["days"] <= 9 and len(value) == 2


@pytest.mark.parametrize(("path", "body"), REQUESTS)
async def test_the_answer_fits_the_schema(
    make_client: Any, generator: StreamGenerator, path: str, body: Any
) -> None:
    client = make_client({"m": generator})
    answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert fits(text_of(path, answer.json()))
    streamed = await client.post(path, json={**body, "stream": True})
    assert streamed_text(path, streamed.text) == text_of(path, answer.json())


async def test_any_object(make_client: Any, llama: Any, tokenizer: Any) -> None:
    client = make_client({"m": StreamGenerator(llama, tokenizer, format="hermes")})
    for body in (
        {**CHAT, "response_format": {"type": "json_object"}},
        {**CHAT, "response_format": {"type": "json_object"}, "temperature": 1.0, "seed": 4},
    ):
        choice = (await client.post("/v1/chat/completions", json={**body, "max_tokens": 60})).json()[
            "choices"
        ][0]
        assert choice["message"]["content"].startswith("{")
        assert choice["finish_reason"] == "length" or json.loads(choice["message"]["content"]) is not None


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "get_weather"}}])
async def test_a_required_call_is_made(make_client: Any, generator: StreamGenerator, choice: Any) -> None:
    client = make_client({"m": generator})
    body = {**CHAT, "tools": [TOOL], "tool_choice": choice, "parallel_tool_calls": False}
    answer = (await client.post("/v1/chat/completions", json=body)).json()["choices"][0]
    (call,) = answer["message"]["tool_calls"]
    assert call["function"]["name"] == "get_weather"
    assert fits(call["function"]["arguments"])
    assert answer["finish_reason"] == "tool_calls"


def scripted(*texts: str, format: str = "hermes") -> ScriptedModel:
    def body(script: Script) -> None:
        for text in texts:
            script.put(text)

    return ScriptedModel(body, format)


@pytest.mark.parametrize(("path", "body"), REQUESTS)
@pytest.mark.parametrize("written", ['{"city": "Rome", "days": 3}', "It is sunny.", ""])
async def test_an_answer_that_does_not_fit_is_an_error(
    make_client: Any, path: str, body: Any, written: str
) -> None:
    """Of a model that keeps to no grammar."""
    client = make_client({"m": scripted(written)})
    answer = await client.post(path, json=body)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert "the answer" in error["message"]
    assert repr(written) in error["message"]
    streamed = await client.post(path, json={**body, "stream": True})
    assert "the answer" in json.dumps(streamed.text)
    assert 'finish_reason": "stop' not in streamed.text
    assert "response.completed" not in streamed.text
    assert "message_stop" not in streamed.text


async def test_arguments_of_a_strict_tool_that_do_not_fit_are_an_error(make_client: Any) -> None:
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}\n</tool_call>'
    client = make_client({"m": scripted(call)})
    answer = await client.post("/v1/chat/completions", json={**CHAT, "tools": [TOOL]})
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "invalid_answer"
    assert "#/city" in answer.json()["error"]["message"]
    free = {"type": "function", "function": {**TOOL["function"], "strict": False}}  # type: ignore[dict-item]
    answer = await client.post("/v1/chat/completions", json={**CHAT, "tools": [free]})
    assert answer.status_code == 200


async def test_what_no_grammar_holds_is_compared(make_client: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "uniqueItems": True}},
        "required": ["a"],
    }
    body = {
        **CHAT,
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}},
    }
    for written, status in (('{"a": [1, 1]}', 422), ('{"a": [1, 2]}', 200)):
        client = make_client({"m": scripted(written)})
        assert (await client.post("/v1/chat/completions", json=body)).status_code == status


async def test_an_answer_that_is_cut_off_is_not_compared(
    make_client: Any, generator: StreamGenerator
) -> None:
    client = make_client({"m": generator})
    body = {**REQUESTS[0][1], "max_tokens": 3}
    answer = (await client.post("/v1/chat/completions", json=body)).json()
    assert answer["choices"][0]["finish_reason"] == "length"


async def test_calls_beside_a_response_format_are_no_answer(make_client: Any) -> None:
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}\n</tool_call>'
    client = make_client({"m": scripted(call)})
    answer = await client.post(
        "/v1/chat/completions", json={**CHAT, "tools": [TOOL], "response_format": NESTED}
    )
    assert answer.json()["choices"][0]["finish_reason"] == "tool_calls"


async def test_a_model_that_takes_no_response_format_refuses_it(make_client: Any) -> None:
    class Plain:
        def stream(self, prompt: Any, *, sampling: Any) -> Any: ...

    answer = await make_client({"m": Plain()}).post(
        "/v1/chat/completions", json={**CHAT, "response_format": NESTED}
    )
    assert answer.status_code == 400
    assert "response format" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"response_format": "json"}, "response_format"),
        ({"response_format": {}}, "response_format.type"),
        ({"response_format": {"type": "json_object", "schema": {}}}, "response_format.schema"),
        (
            {"response_format": {**NESTED, "json_schema": {"schema": []}}},
            "response_format.json_schema.schema",
        ),
        ({"response_format": {**NESTED, "json_schema": {"name": 1}}}, "response_format.json_schema.name"),
    ],
)
async def test_a_malformed_format_is_422(make_client: Any, body: Any, place: str) -> None:
    answer = await make_client({"m": scripted("x")}).post("/v1/chat/completions", json={**CHAT, **body})
    assert answer.status_code == 422
    assert f"'{place}'" in answer.json()["error"]["message"]


async def test_a_schema_that_nothing_fits_is_400(make_client: Any, generator: StreamGenerator) -> None:
    schema = {"type": "string", "enum": [1]}
    body = {
        **CHAT,
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}},
    }
    answer = await make_client({"m": generator}).post("/v1/chat/completions", json=body)
    assert answer.status_code == 400
    assert "schema" in answer.json()["error"]["message"]


@pytest.mark.parametrize("format", ["hermes", "openai", "granite", "none", "pythonic"])
async def test_the_demo_answers_in_the_form_that_is_asked_for(make_client: Any, format: str) -> None:
    body = {"model": format, "messages": USER, "response_format": NESTED}
    answer = await make_client().post("/v1/chat/completions", json=body)
    assert json.loads(answer.json()["choices"][0]["message"]["content"]) == {"city": "Paris", "days": 3}


COMPLETION = {"model": "m", "prompt": "Hello", "max_tokens": 700}
CONSTRAINTS: list[tuple[dict[str, Any], str]] = [
    ({"structured_outputs": {"choice": ["red", "red wine", 'a "b"\nc']}}, 'red|red wine|a "b"\nc'),
    ({"structured_outputs": {"regex": "[a-f]{4}"}}, "[a-f]{4}"),
    ({"structured_outputs": {"grammar": 'start: "a" /[0-9]{2}/'}}, "a[0-9]{2}"),
    ({"structured_outputs": {"json": {"enum": [7, 8]}}}, "7|8"),
    ({"guided_choice": ["left", "right"]}, "left|right"),
    ({"guided_regex": "[xyz]{2}"}, "[xyz]{2}"),
    ({"guided_grammar": 'root ::= "b" [0-9] [0-9]'}, "b[0-9]{2}"),
    ({"guided_json": '{"const": 5}'}, "5"),
    ({"grammar": 'root ::= ("c" [0-9]){2}'}, "(c[0-9]){2}"),
    ({"json_schema": {"enum": [1, 2]}}, "1|2"),
]


@pytest.mark.parametrize(("asked", "pattern"), CONSTRAINTS)
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", CHAT),
        ("/v1/completions", COMPLETION),
        ("/v1/responses", INPUT),
        ("/v1/messages", CHAT),
    ],
)
async def test_the_fields_of_vllm_and_llama_cpp(
    make_client: Any, generator: StreamGenerator, path: str, body: Any, asked: Any, pattern: str
) -> None:
    answer = await make_client({"m": generator}).post(path, json={**body, **asked})
    assert answer.status_code == 200, answer.text
    text = answer.json()["choices"][0]["text"] if path == "/v1/completions" else text_of(path, answer.json())
    assert re.fullmatch(pattern, text)


async def test_a_grammar_as_the_response_format(make_client: Any, generator: StreamGenerator) -> None:
    client = make_client({"m": generator})
    format = {"type": "grammar", "grammar": "start: /[a-z]{3}/", "syntax": "lark"}
    chat = await client.post("/v1/chat/completions", json={**CHAT, "response_format": format})
    responses = await client.post("/v1/responses", json={**INPUT, "text": {"format": format}})
    completion = await client.post("/v1/completions", json={**COMPLETION, "response_format": format})
    assert re.fullmatch("[a-z]{3}", text_of("/v1/chat/completions", chat.json()))
    assert re.fullmatch("[a-z]{3}", text_of("/v1/responses", responses.json()))
    assert re.fullmatch("[a-z]{3}", completion.json()["choices"][0]["text"])


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"guided_choice": ["a"], "guided_regex": "a"}, "one of them"),
        ({"structured_outputs": {"choice": ["a"], "regex": "b"}}, "one of them"),
        ({"structured_outputs": {"choice": []}}, "list 1 to"),
        ({"guided_json": "{"}, "guided_json"),
        ({"grammar": "root ::= x"}, "no rule 'x'"),
        ({"guided_regex": "(?=a)"}, "looks ahead"),
        ({"guided_regex": "((a{1000}){1000}){1000}"}, "repeats more than"),
        ({"guided_grammar": "start: a\na: b b\nb: a a"}, "without end"),
        ({"response_format": {"type": "grammar"}}, "no 'grammar'"),
        ({"response_format": {"type": "grammar", "grammar": "start: " + "(" * 40_000}}, "deeper than"),
        ({"guided_choice": ["a </tool_call>"]}, "marker"),
    ],
)
async def test_a_constraint_that_cannot_be_read_is_the_clients_error(
    make_client: Any, llama: Any, tokenizer: Any, asked: Any, why: str
) -> None:
    client = make_client({"m": StreamGenerator(llama, tokenizer, format="hermes")})
    answer = await client.post("/v1/chat/completions", json={**CHAT, **asked})
    assert answer.status_code == 400, answer.text
    assert why in answer.json()["error"]["message"]


async def test_an_answer_that_is_no_choice_is_an_error(make_client: Any) -> None:
    client = make_client({"m": scripted("maybe")})
    said = {**CHAT, "guided_choice": ["yes", "no"]}
    answer = await client.post("/v1/chat/completions", json=said)
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, "choice")
