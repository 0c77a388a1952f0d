"""Google's endpoints: each field, the two forms of a stream, counts, models, keys and errors."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from unspool import sign_thought
from unspool.serve.http.api_errors import ApiError
from unspool.serve.http.ignored import _ignored
from unspool.serve.wires.google import read_google_count, read_google_request
from unspool.testing.wire import assemble, read_google
from unspool.writing.grammar.response import Response

from .conftest import Script, ScriptedModel

pytestmark = pytest.mark.anyio

GENERATE = "/v1beta/models/m:generateContent"
STREAM = "/v1beta/models/m:streamGenerateContent"
HELLO = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
CALL = '<think>Look it up.</think><tool_call>{"name": "look_up", "arguments": {"word": "a"}}</tool_call>'
DECLARED = {
    "name": "look_up",
    "description": "Looks up.",
    "parameters": {
        "type": "OBJECT",
        "properties": {
            "type": {"type": "STRING", "nullable": True, "enum": ["A"]},
            "days": {"type": "ARRAY", "minItems": "1", "items": {"type": "INTEGER"}, "max_items": 3},
            "any": {"any_of": [{"type": "NUMBER"}, {"type": "TYPE_UNSPECIFIED", "example": 1}]},
        },
        "required": ["type"],
        "propertyOrdering": ["type"],
    },
}
TOOLS = [{"functionDeclarations": [DECLARED, {"name": "other", "parametersJsonSchema": {"type": "object"}}]}]


def call_it(script: Script) -> None:
    for at in range(0, len(CALL), 7):
        script.put(CALL[at : at + 7])


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(call_it, "qwen3")


@pytest.fixture
def client(make_client: Any, model: ScriptedModel) -> Any:
    return make_client({"m": model})


def snake(value: Any) -> Any:
    """Other spellings of the same keys."""
    if isinstance(value, list):
        return [snake(item) for item in value]
    if not isinstance(value, dict):
        return value
    own = ("args", "parameters", "parametersJsonSchema", "response", "responseJsonSchema")
    return {
        "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key): item
        if key in own
        else snake(item)
        for key, item in value.items()
    }


async def test_an_answer(client: Any) -> None:
    answer = (await client.post(GENERATE, json={**HELLO, "tools": TOOLS})).json()
    thought, call = answer["candidates"][0]["content"]["parts"]
    assert thought == {"text": "Look it up.", "thought": True}
    assert call["functionCall"] == {
        "id": call["functionCall"]["id"],
        "name": "look_up",
        "args": {"word": "a"},
    }
    assert call["thoughtSignature"].startswith(sign_thought("Look it up."))
    assert answer["candidates"][0]["finishReason"] == "STOP"
    assert answer["modelVersion"] == "m"
    assert answer["usageMetadata"]["thoughtsTokenCount"] > 0


@pytest.mark.parametrize("prefix", ["/v1beta", "/v1"])
async def test_a_stream_is_events_or_an_array(client: Any, prefix: str) -> None:
    for query, kind in (("?alt=sse", "text/event-stream"), ("", "application/json")):
        answer = await client.post(
            f"{prefix}/models/m:streamGenerateContent{query}", json={**HELLO, "tools": TOOLS}
        )
        assert answer.headers["content-type"].startswith(kind)
        (found,) = read_google(answer.content)
        assert (found.reasoning, found.finish_reason) == ("Look it up.", "tool_calls")
        assert [(call.name, json.loads(call.arguments)) for call in found.calls] == [
            ("look_up", {"word": "a"})
        ]


async def test_values_stream_if_asked_for(client: Any) -> None:
    config = {"functionCallingConfig": {"streamFunctionCallArguments": True}}
    body = {**HELLO, "tools": TOOLS, "toolConfig": config}
    answer = await client.post(f"{STREAM}?alt=sse", json=body)
    assert b'"partialArgs":[{"jsonPath":"$.word","stringValue":"a"' in answer.content
    assert json.loads(assemble("google", answer.content)[0].calls[0].arguments) == {"word": "a"}


SAID = [{"text": "Look "}, {"text": "it up.", "thought": True}]
CONVERSATION = {
    "systemInstruction": {"parts": [{"text": "Be "}, {"text": "brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "What is a?"}]},
        {
            "role": "model",
            "parts": [{"text": "It is ", "thought": True}, {"text": "a word.", "thought": True}],
        },
        {"role": "model", "parts": [{"text": "I look."}]},
        {
            "role": "model",
            "parts": [
                {"functionCall": {"name": "look_up", "args": {"word": "a", "theWord": {"anyThing": 1}}}},
                {"functionCall": {"id": "c2", "name": "look_up", "args": {"word": "b"}}},
                {"functionCall": {"name": "other"}, "thoughtSignature": "c2tpcF90aG91Z2h0"},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "other", "response": {"result": "y"}}},
                {
                    "functionResponse": {
                        "id": "c2",
                        "name": "look_up",
                        "response": {"output": {"theAnswer": 2}},
                    }
                },
                {
                    "functionResponse": {
                        "name": "look_up",
                        "response": {"error": "none"},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}],
                    }
                },
                {"text": "Go on."},
            ],
        },
    ],
}


@pytest.mark.parametrize("spelling", [dict, snake])
async def test_contents_are_what_templates_read(client: Any, model: ScriptedModel, spelling: Any) -> None:
    answer = await client.post(GENERATE, json=spelling({**CONVERSATION, "tools": TOOLS}))
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-unspool-ignored"] == "contents[4].parts[2].function_response.parts (image)"
    system, user, assistant, *results, last = model.asked[0]["prompt"]
    assert (system["content"], user["content"], last["content"]) == ("Be brief.", "What is a?", "Go on.")
    assert assistant["reasoning_content"] == "It is a word."
    assert assistant["content"] == "I look."
    functions = [call["function"] for call in assistant["tool_calls"]]
    assert functions == [
        {"name": "look_up", "arguments": {"word": "a", "theWord": {"anyThing": 1}}},
        {"name": "look_up", "arguments": {"word": "b"}},
        {"name": "other", "arguments": {}},
    ]
    first, second, third = [call["id"] for call in assistant["tool_calls"]]
    assert [(result["tool_call_id"], result["content"]) for result in results] == [
        (third, "y"),
        (second, '{"theAnswer": 2}'),
        (first, '{"error": "none"}[image]'),
    ]


async def test_one_may_stand_without_its_list(client: Any, model: ScriptedModel) -> None:
    body = {"contents": {"parts": {"text": "Hello"}}, "tools": {"functionDeclarations": DECLARED}}
    assert (await client.post(GENERATE, json=body)).status_code == 200
    assert model.asked[0]["prompt"] == [{"role": "user", "content": "Hello"}]
    assert len(model.asked[0]["tools"]) == 1


async def test_schemas_with_types_in_capitals(client: Any, model: ScriptedModel) -> None:
    await client.post(GENERATE, json={**HELLO, "tools": TOOLS})
    first, second = (tool["function"] for tool in model.asked[0]["tools"])
    assert first == {
        "name": "look_up",
        "description": "Looks up.",
        "parameters": {
            "type": "object",
            "properties": {
                "type": {"type": ["string", "null"], "enum": ["A", None]},
                "days": {"type": "array", "minItems": 1, "items": {"type": "integer"}, "maxItems": 3},
                "any": {"anyOf": [{"type": "number"}, {}]},
            },
            "required": ["type"],
        },
    }
    assert second == {"name": "other", "parameters": {"type": "object"}}


@pytest.mark.parametrize("client_of_thoughts", ["keeps them", "drops them", "joins them", "other alphabet"])
async def test_thoughts_come_back(client: Any, model: ScriptedModel, client_of_thoughts: str) -> None:
    answer = await client.post(f"{STREAM}?alt=sse", json={**HELLO, "tools": TOOLS})
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line]
    contents = [event["candidates"][0]["content"] for event in events]
    if client_of_thoughts != "keeps them":
        parts = [part for content in contents for part in content["parts"] if "thought" not in part]
        if client_of_thoughts == "joins them":
            parts.insert(0, {"text": "Look it up.\n", "thought": True})
        if client_of_thoughts == "other alphabet":
            parts[0]["thoughtSignature"] = parts[0]["thoughtSignature"].translate(str.maketrans("+/", "-_"))
        contents = [{"role": "model", "parts": parts}]
    result = {
        "role": "user",
        "parts": [{"functionResponse": {"name": "look_up", "response": {"result": "b"}}}],
    }
    answer = await client.post(
        GENERATE, json={"contents": [*HELLO["contents"], *contents, result], "tools": TOOLS}
    )
    assert "x-unspool-ignored" not in answer.headers, answer.headers
    assert model.asked[1]["prompt"][1]["reasoning_content"].strip() == "Look it up."


@pytest.mark.parametrize(
    ("parts", "is_said"),
    [
        ([{"text": "Changed.", "thought": True}], True),
        ([{"text": "Look it up.", "thought": True}, {"text": "More.", "thought": True}], True),
        ([], False),
    ],
)
async def test_a_changed_thought_is_not_shown(
    client: Any, model: ScriptedModel, parts: list[Any], is_said: bool
) -> None:
    carried = base64.b64encode(b"Another.").decode() if not parts else ""
    signature = sign_thought("Another." if not parts else "Look it up.") + carried
    call = {"functionCall": {"name": "look_up", "args": {}}, "thoughtSignature": signature}
    result = {"role": "user", "parts": [{"functionResponse": {"name": "look_up", "response": {}}}]}
    turns = [*HELLO["contents"], {"role": "model", "parts": [*parts, call]}, result]
    answer = await client.post(GENERATE, json={"contents": turns})
    assert answer.status_code == 200
    assert ("contents[1].parts" in answer.headers.get("x-unspool-ignored", "")) == is_said
    assert model.asked[0]["prompt"][1].get("reasoning_content") == (None if is_said else "Another.")


@pytest.mark.parametrize("junk", ["!", "A", "////", "wqk", "é", base64.b64encode(b"\xff").decode()])
async def test_a_false_signature_does_no_harm(client: Any, model: ScriptedModel, junk: str) -> None:
    turns = [
        *HELLO["contents"],
        {"role": "model", "parts": [{"text": "a", "thoughtSignature": "unspool1" + junk}]},
    ]
    answer = await client.post(GENERATE, json={"contents": [*turns, *HELLO["contents"]]})
    assert answer.status_code == 200
    assert "reasoning_content" not in model.asked[0]["prompt"][1]


async def test_sampling_reaches_the_model(client: Any, model: ScriptedModel) -> None:
    config = {
        "temperature": 1.0, "topP": 0.9, "topK": 40.0, "maxOutputTokens": 99, "stopSequences": ["a", "b"], "seed": 4,
        "presencePenalty": 0.1, "frequencyPenalty": 0.2, "responseModalities": ["TEXT"], "mediaResolution": "X",
        "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 24},
    }  # fmt: skip
    for spelling in (dict, snake):
        answer = await client.post(GENERATE, json={**HELLO, "generationConfig": spelling(config)})
        assert answer.status_code == 200, answer.text
        asked = model.asked[-1]["sampling"]
        assert (asked.temperature, asked.top_p, asked.top_k, asked.seed) == (1, 0.9, 40, 4)
        assert (asked.presence_penalty, asked.frequency_penalty) == (0.1, 0.2)
        assert (asked.max_tokens, asked.stop, asked.max_reasoning_tokens) == (99, ("a", "b"), 24)
        assert model.asked[-1]["chat_template_kwargs"] == {"enable_thinking": True}


@pytest.mark.parametrize(
    ("thinking", "switch"),
    [
        ({"thinkingBudget": 0}, False),
        ({"thinkingBudget": -1}, None),
        ({"thinkingBudget": 5}, True),
        ({"thinkingLevel": "LOW"}, True),
        ({"thinkingLevel": "MINIMAL"}, True),
        ({"thinkingLevel": "high"}, True),
        ({"thinking_level": "THINKING_LEVEL_UNSPECIFIED"}, None),
        ({}, None),
    ],
)
async def test_thinking(client: Any, model: ScriptedModel, thinking: Any, switch: bool | None) -> None:
    answer = await client.post(GENERATE, json={**HELLO, "generationConfig": {"thinkingConfig": thinking}})
    assert answer.status_code == 200, answer.text
    assert model.asked[0]["chat_template_kwargs"].get("enable_thinking") is switch


async def test_a_wish_without_a_switch_is_said(make_client: Any, model: ScriptedModel) -> None:
    model.template_names = ()  # type: ignore[assignment]
    client = make_client({"m": model})
    config = {"thinkingConfig": {"thinkingLevel": "HIGH"}}
    answer = await client.post(GENERATE, json={**HELLO, "generationConfig": config})
    assert answer.headers["x-unspool-ignored"] == "generation_config.thinking_config"


@pytest.mark.parametrize(
    ("config", "names", "choice"),
    [
        ({"mode": "AUTO"}, ["look_up", "other"], "auto"),
        ({}, ["look_up", "other"], "auto"),
        ({"mode": "NONE"}, None, "none"),
        ({"mode": "ANY"}, ["look_up", "other"], "required"),
        ({"mode": "ANY", "allowedFunctionNames": ["look_up"]}, ["look_up"], "required"),
        ({"mode": "VALIDATED", "allowedFunctionNames": ["look_up", "other"]}, ["look_up", "other"], "auto"),
    ],
)
async def test_the_mode_of_calls(
    client: Any, model: ScriptedModel, config: Any, names: list[str] | None, choice: str
) -> None:
    body = {**HELLO, "tools": TOOLS, "toolConfig": {"functionCallingConfig": config}}
    answer = await client.post(GENERATE, json=body)
    # The scripted call does not fit its schema, which only the last mode demands.
    assert answer.status_code == (422 if config.get("mode") == "VALIDATED" else 200), answer.text
    asked = model.asked[0]
    shown = asked["tools"] and [tool["function"]["name"] for tool in asked["tools"]]
    assert (shown, asked["tool_choice"]) == (names, choice)
    if config.get("mode") == "VALIDATED":
        assert all(tool["function"]["strict"] for tool in asked["tools"])


PERSON = {"type": "object", "properties": {"name": {"type": "string"}}}
CAPITALS = {"type": "OBJECT", "properties": {"name": {"type": "STRING"}}}
JSON = {"responseMimeType": "application/json"}


@pytest.mark.parametrize(
    ("config", "response"),
    [
        (JSON, Response({"type": "object"})),
        ({**JSON, "responseSchema": CAPITALS}, Response(PERSON)),
        ({**JSON, "response_json_schema": PERSON}, Response(PERSON)),
        (
            {"responseMimeType": "text/x.enum", "responseSchema": {"enum": ["a", "b"]}},
            Response.of(choice=["a", "b"]),
        ),
        ({"responseMimeType": "text/plain"}, None),
    ],
)
def test_what_an_answer_is_kept_to(config: Any, response: Any) -> None:
    assert read_google_request({**HELLO, "generationConfig": config}, "m").response == response


async def test_what_changes_nothing_is_said(client: Any) -> None:
    body = {
        **HELLO,
        "tools": [*TOOLS, {"googleSearch": {}}, {"codeExecution": {}}],
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "labels": {"teamName": "x"},
        "newField": 1,
    }
    answer = await client.post(GENERATE, json=body)
    assert answer.status_code == 200, answer.text
    said = answer.headers["x-unspool-ignored"]
    for field in ("tools[1].google_search", "tools[2].code_execution", "safety_settings", "new_field"):
        assert field in said
    assert "labels" not in said


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"contents": []}, 400, "'contents' is empty"),
        # A client that lets Google search would take the answer for what was found.
        ({"tools": [{"googleSearch": {}}]}, 400, "'tools' has only google_search"),
        (
            {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f"}}]}]},
            400,
            "no answer can continue",
        ),
        (
            {"contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]}]},
            400,
            "inline_data",
        ),
        ({"contents": [{"parts": [{"fileData": {"fileUri": "gs://x"}}]}]}, 400, "file_data"),
        ({"contents": [{"role": "assistant", "parts": []}]}, 422, "'contents[0].role' is 'assistant'"),
        ({"cachedContent": "cachedContents/x"}, 400, "cached_content"),
        ({"generationConfig": {"topP": 5}}, 422, "'generation_config.top_p' is 5"),
        ({"generationConfig": {"responseModalities": ["IMAGE"]}}, 400, "response_modalities"),
        ({"generationConfig": {"responseMimeType": "text/html"}}, 422, "response_mime_type"),
        ({"generationConfig": {"responseMimeType": "text/x.enum"}}, 400, "choice"),
        ({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, 400, "there are no tools"),
        (
            {
                "tools": TOOLS,
                "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
            },
            400,
            "has 'f', which is not one of the tools: look_up, other",
        ),
        ({"generationConfig": {"responseLogprobs": True, "logprobs": 2}}, 400, "logprobs"),
        ({"generationConfig": {"maxOutputToken": 5}}, 422, "max_output_tokens"),
    ],
)
async def test_what_cannot_be_honoured(client: Any, change: Any, status: int, says: str) -> None:
    for path in (GENERATE, f"{STREAM}?alt=sse"):
        answer = await client.post(path, json={**HELLO, **change})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["status"]) == (status, status, "INVALID_ARGUMENT"), (
            error
        )
        assert says in error["message"]


def test_an_answer_that_the_client_has_begun() -> None:
    body = {"contents": [*HELLO["contents"], {"role": "model", "parts": [{"text": "It is"}]}]}
    assert read_google_request(body, "m").prefill
    assert not read_google_request(HELLO, "m").prefill


async def test_a_key_in_the_query_is_compared_as_it_is(make_client: Any, model: ScriptedModel) -> None:
    client = make_client({"m": model}, api_keys=["wer?", "schlüssel"])
    for key, status in (("wer?", 200), ("wer€", 401), ("schlüssel", 200), ("schl?ssel", 401)):
        assert (await client.get("/v1beta/models", params={"key": key})).status_code == status


async def test_errors_are_googles(make_client: Any, model: ScriptedModel) -> None:
    client = make_client({"m": model}, api_keys=["secret"])
    answer = await client.post(GENERATE, json=HELLO)
    assert (answer.status_code, answer.json()["error"]["status"]) == (401, "UNAUTHENTICATED")
    for send in ({"headers": {"x-goog-api-key": "secret"}}, {"params": {"key": "secret"}}):
        assert (await client.post(GENERATE, json=HELLO, **send)).status_code == 200
    for send in ({"headers": {"x-goog-api-key": "é".encode("latin-1")}}, {"params": {"key": "€"}}):
        assert (await client.post(GENERATE, json=HELLO, **send)).status_code == 401
    key = {"headers": {"x-goog-api-key": "secret"}}
    for path in ("/v1beta/models/none:generateContent", "/v1/models/none:countTokens"):
        answer = await client.post(path, json=HELLO, **key)
        assert (answer.status_code, answer.json()["error"]["status"]) == (404, "NOT_FOUND")
    answer = await client.post(GENERATE, content=b"{", **key)
    assert answer.json()["error"]["status"] == "INVALID_ARGUMENT"


def fail(script: Script) -> None:
    script.put("Hello")
    raise MemoryError("no memory")


@pytest.mark.parametrize("query", ["?alt=sse", ""])
async def test_a_stream_that_fails(make_client: Any, query: str) -> None:
    client = make_client({"m": ScriptedModel(fail)}, flush_ms=0)
    answer = await client.post(f"{STREAM}{query}", json=HELLO)
    text = answer.text
    last = (
        json.loads(text)[-1]
        if not query
        else json.loads(text.strip().rpartition("\n\n")[2].removeprefix("data: "))
    )
    assert last["error"]["status"] == "INTERNAL"
    assert "no memory" in last["error"]["message"]


async def test_counts(client: Any, model: ScriptedModel) -> None:
    for body in (HELLO, {"generateContentRequest": {"model": "models/m", **HELLO}}):
        answer = await client.post("/v1beta/models/m:countTokens", json=body)
        assert answer.json() == {"totalTokens": 1}, answer.text
    assert model.asked == []


async def test_models(client: Any) -> None:
    entry = {
        "name": "models/m",
        "displayName": "m",
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
    }
    assert (await client.get("/v1beta/models")).json() == {"models": [entry]}
    assert (await client.get("/v1beta/models/m")).json() == entry
    # Google's SDKs ask for v1 too.
    key = {"x-goog-api-key": "none"}
    assert (await client.get("/v1/models", headers=key)).json() == {"models": [entry]}
    assert (await client.get("/v1/models/m", headers=key)).json() == entry
    assert (await client.get("/v1/models/m")).json()["object"] == "model"
    assert (await client.get("/v1beta/models/none")).json()["error"]["status"] == "NOT_FOUND"


async def test_metrics_have_no_names_of_clients(client: Any) -> None:
    for name in ("m", "none", "x" * 50):
        await client.post(f"/v1beta/models/{name}:generateContent", json=HELLO)
    await client.post("/v1beta/models/m:embedContent", json=HELLO)
    text = (await client.get("/metrics")).text
    assert 'endpoint="/v1beta/models/{name}:generateContent",model="m",status="success"' in text
    assert "none" not in text
    assert "xxx" not in text


EVERYTHING = {
    **CONVERSATION,
    "tools": [*TOOLS, {"googleSearch": {}}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look_up"]}},
    "generationConfig": {
        "temperature": 1.0, "topK": 4, "stopSequences": ["a"], "responseMimeType": "text/x.enum", "candidateCount": 2,
        "responseSchema": {"type": "STRING", "enum": ["A"]}, "thinkingConfig": {"thinkingBudget": 4},
    },
    "safetySettings": [{"category": "x"}],
}  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


@pytest.mark.parametrize("junk", [None, 0, -1, 1.5, "", "x", True, [], {}, [[]], {"a": 1}, [None], 10**30])
def test_a_wrong_value_is_the_clients_error(junk: Any) -> None:
    """At any place of a body: an answer, or an error that says what is wrong."""
    _ignored.set({})  # outside of a server, what is ignored is refused
    read_google_request(EVERYTHING, "m")
    for path in places(EVERYTHING):
        body = copy.deepcopy(EVERYTHING)
        inner: Any = body
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = junk
        for read in (read_google_request, read_google_count):
            with contextlib.suppress(ApiError):
                read(body, "m")
