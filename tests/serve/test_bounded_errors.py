"""What a wrong request gets: a status below 500, a bounded text of ours, and no model that ran."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import pytest
from unspool.serve.http.api_errors import ApiError, shortened, traceback_of

from .conftest import TOOL, USER, ScriptedModel

pytestmark = pytest.mark.anyio

LONG = "x" * 1_000_000
ODD: list[Any] = [
    None, True, 0, -1, 1.5, 10**400, 1e300, "", "x", LONG, [], [[]], [None], {}, {"type": []}, {"type": {}}, {"": None},
    {"type": "function"}, {"function": []}, {"function": {"name": []}}, [{}], [{"type": []}], [{"role": {}}],
    [{"type": "function", "function": {"name": {}}}], [{"role": "user", "content": [[]]}],
    [{"role": "user", "content": [{"type": []}]}], {"type": "json_schema", "json_schema": {"schema": []}},
    {"type": "json_schema", "json_schema": {"schema": {"type": []}}},
]  # fmt: skip
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "model": "m", "messages": USER, "tools": [TOOL], "tool_choice": "auto", "response_format": {"type": "text"},
        "stop": "x", "n": 1, "temperature": 1, "top_p": 1, "max_tokens": 5, "seed": 1, "logit_bias": {}, "stream": False,
        "stream_options": None, "metadata": {}, "chat_template_kwargs": {}, "tool_parser": "hermes", "logprobs": None,
        "reasoning_effort": None, "parallel_tool_calls": True,
    },
    "/v1/completions": {"model": "m", "prompt": "Hello", "stop": None, "max_tokens": 5, "echo": False, "suffix": None},
    "/v1/responses": {
        "model": "m", "input": "Hello", "tools": [], "tool_choice": "auto", "text": {}, "reasoning": {}, "instructions": "x",
        "metadata": {}, "truncation": None, "include": [], "store": True, "previous_response_id": None,
    },
    "/v1/messages": {
        "model": "m", "messages": USER, "max_tokens": 5, "system": "x", "tools": [], "tool_choice": {"type": "auto"},
        "thinking": {"type": "disabled"}, "stop_sequences": [], "metadata": {}, "output_config": None,
    },
    "/v1beta/models/m:generateContent": {
        "contents": [{"parts": [{"text": "Hello"}]}], "systemInstruction": {"parts": []}, "tools": [], "toolConfig": {},
        "generationConfig": {}, "safetySettings": [], "labels": {}, "cachedContent": None,
    },
    "/v1beta/models/m:countTokens": {"contents": [{"parts": [{"text": "Hello"}]}], "generateContentRequest": None},
    "/v1/messages/count_tokens": {"model": "m", "messages": USER, "tools": []},
    "/tokenize": {"model": "m", "prompt": "x"},
    "/detokenize": {"model": "m", "tokens": [1]},
    "/v1/count_tokens": {"model": "m", "conversation": "x"},
}  # fmt: skip
# Of Python, of its libraries, or of the server's code.
INTERNAL = re.compile(
    r"unhashable|object has no attribute|NoneType|Traceback|set_int_max|msgspec|not subscriptable|positional argument"
    r"|unexpected keyword|<class|<unspool|KeyError|TypeError|AttributeError|ValueError|RecursionError"
)


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(lambda script: script.put("Hi"))


@pytest.fixture
def client(make_client: Any, model: ScriptedModel) -> Any:
    return make_client({"m": model})


@pytest.mark.parametrize("path", BODIES)
async def test_odd_values_of_every_field(client: Any, path: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "unspool")
    wrong = []
    for name in (*BODIES[path], "unknown"):
        for value in ODD:
            answer = await client.post(path, content=json.dumps({**BODIES[path], name: value}))
            if answer.status_code >= 500 and answer.status_code != 501:
                wrong.append((name, str(value)[:60], answer.text[:200]))
            if answer.status_code != 200 and (INTERNAL.search(answer.text) or len(answer.text) > 5000):
                wrong.append((name, str(value)[:60], answer.text[:300]))
    assert not wrong
    assert max((len(record.getMessage()) for record in caplog.records), default=0) < 10_000


def inside(value: Any) -> list[tuple[str, Any]]:
    """Bodies with a value where agents' objects have theirs."""
    tool = {"type": "function", "name": "f"}
    thought = {"type": "thinking", "thinking": "x", "signature": value}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": value}]}
    call = {"type": "function_call", "call_id": "c", "name": "f", "namespace": value}
    return [
        *(
            ("/v1/responses", {"model": "m", "input": "x", "tools": [{**made, "type": "namespace"}]})
            for made in ({"name": value, "tools": [tool]}, {"name": "n", "tools": value}, {"name": "n", "tools": [value]})
        ),
        *(
            ("/v1/responses", {"model": "m", "input": [item, *USER], "tools": [tool]})
            for item in (
                call, {"type": value}, value, {"type": "item_reference", "id": value},
                {"type": "reasoning", "summary": [], "encrypted_content": value},
                {"type": "function_call_output", "call_id": "c", "output": [{"type": value}]},
            )
        ),
        ("/v1/responses", {"model": "m", "input": "x", "tools": [tool], "tool_choice": {"type": "function", "namespace": value}}),
        ("/v1/messages", {"model": "m", "max_tokens": 5, "messages": [{"role": "assistant", "content": [thought]}, *USER]}),
        ("/v1/messages", {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": [result]}]}),
        ("/v1/chat/completions", {"model": "m", "messages": USER, "tools": [{"type": value}, TOOL]}),
        *(
            ("/v1beta/models/m:generateContent", {"contents": [{"role": "model", "parts": [part]}, {"parts": [{"text": "x"}]}]})
            for part in (
                value, {"text": value}, {"text": "x", "thoughtSignature": value}, {"functionCall": value},
                {"functionCall": {"name": "f", "args": value}}, {"text": "x", "thoughtSignature": f"unspool1{value}"},
            )
        ),
        *(
            ("/v1beta/models/m:generateContent", {"contents": [{"parts": [{"functionResponse": {"name": "f", **result}}]}]})
            for result in ({"response": value}, {"id": value}, {"parts": [{"inlineData": {"mimeType": value}}]})
        ),
        *(
            ("/v1beta/models/m:generateContent", {"contents": [{"parts": [{"text": "x"}]}], "generationConfig": config})
            for config in (
                {"thinkingConfig": value}, {"responseSchema": {"enum": value, "nullable": True}},
                {"responseMimeType": "text/x.enum", "responseSchema": {"enum": value}},
            )
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("response_store_mb", [0, 1])
async def test_odd_values_inside_of_what_agents_send(
    make_client: Any, model: ScriptedModel, response_store_mb: int
) -> None:
    client = make_client({"m": model}, response_store_mb=response_store_mb)
    wrong = []
    for value in (*ODD, "web_search", "unspool1", {"a": [None]}):
        for path, body in inside(value):
            answer = await client.post(path, content=json.dumps(body))
            is_long = answer.status_code != 200 and len(answer.text) > 5000
            if answer.status_code >= 500 or INTERNAL.search(answer.text) or is_long:
                wrong.append((str(body)[:120], answer.text[:300]))
    assert not wrong


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b'"x"',
        b"null",
        b"{}" * 2,
        b"[" * 1000,
        b"1" * 5000,
        b"NaN",
        b'{"a":' + b"1" * 5000 + b"}",
    ],
)
async def test_bodies_that_are_none(client: Any, body: bytes) -> None:
    for path in BODIES:
        answer = await client.post(path, content=body)
        assert answer.status_code == 422, answer.text
        assert not INTERNAL.search(answer.text)


SCHEMAS: list[Any] = [
    {"type": "strin"}, {"type": 5}, {"properties": []}, {"properties": {"a": 5}}, {"required": "a"}, {"enum": {}},
    {"anyOf": {}}, {"$ref": 5}, {"$ref": "#/$defs/none"}, {"allOf": [{"$ref": "#"}]}, {"minLength": "1"},
    {"items": 5}, {"type": "object", "properties": {f"k{i}": {} for i in range(4000)}}, {"enum": []}, {"const": LONG},
    {"type": "object", "properties": {"a": False}, "required": ["a"]},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
async def test_a_malformed_schema_is_found_before_the_model_runs(
    client: Any, model: ScriptedModel, schema: Any
) -> None:
    format = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}
    tool = {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {"type": "object", "properties": {"a": schema}, "required": ["a"]},
            "strict": True,
        },
    }
    for field in ({"response_format": format}, {"tools": [tool]}):
        answer = await client.post("/v1/chat/completions", json={"model": "m", "messages": USER, **field})
        assert answer.status_code in (400, 422), answer.text
        assert len(answer.text) < 5000
        assert not INTERNAL.search(answer.text)
    assert not model.asked


async def test_a_part_that_no_grammar_expresses_does_not_fail_at_the_end(
    make_client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "unspool.serve")  # a server of another test may have set another level
    client = make_client({"m": ScriptedModel(lambda script: script.put('{"a": 1}'))})
    schema = {"type": "object", "properties": {"a": {"type": "integer", "not": {"type": 7}}}}
    format = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    answer = await client.post(
        "/v1/chat/completions", json={"model": "m", "messages": USER, "response_format": format}
    )
    assert answer.status_code == 200, answer.text
    assert "not compared with the answer" in caplog.text


async def test_a_models_exception_is_bounded_too(make_client: Any, caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: Any) -> None:
        raise RuntimeError(LONG)

    caplog.set_level(logging.WARNING, "unspool.serve")
    client = make_client({"m": ScriptedModel(fails)})
    answer = await client.post("/v1/chat/completions", json={"model": "m", "messages": USER})
    assert answer.status_code == 500
    assert len(answer.text) < 5000
    assert "in fails" in caplog.text, "the log has the traceback"
    assert len(caplog.text) < 40_000


def test_shortened() -> None:
    assert shortened("x" * 2000) == "x" * 2000
    assert shortened("a" * 3000 + "b" * 3000) == "a" * 1500 + " … " + "b" * 500
    assert shortened("\ud800") == "\\ud800"
    assert len(ApiError(400, LONG, param=LONG).message) < 2100
    assert len(ApiError(400, LONG, param=LONG).param or "") < 2100
    assert len(traceback_of(ValueError(LONG))) < 2100
