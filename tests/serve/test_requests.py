"""What each endpoint takes, honours and refuses: nothing is silently ignored."""

from __future__ import annotations

import gc
import json
import time
from typing import Any

import pytest
from unspool.serve.answer import Answer
from unspool.serve.wires.chat import read_chat_request

from .conftest import TOOL, USER, Script, ScriptedModel

pytestmark = pytest.mark.anyio

CHAT = {"model": "m", "messages": USER}
COMPLETION = {"model": "m", "prompt": "Hello"}
RESPONSE = {"model": "m", "input": "Hello"}
MESSAGE = {"model": "m", "messages": USER, "max_tokens": 50}
PATHS = {
    "/v1/chat/completions": CHAT,
    "/v1/completions": COMPLETION,
    "/v1/responses": RESPONSE,
    "/v1/messages": MESSAGE,
}


def say_hi(script: Script) -> None:
    script.put("Hi")


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(say_hi)


@pytest.fixture
def client(make_client: Any, model: ScriptedModel) -> Any:
    return make_client({"m": model})


@pytest.fixture
def strict(make_client: Any, model: ScriptedModel) -> Any:
    return make_client({"m": model}, strict_requests=True)


def error_of(response: Any) -> dict[str, Any]:
    """An error's message in either form, which has to be the path's."""
    body = response.json()
    if response.url.path.startswith("/v1/messages"):
        assert body["type"] == "error"
    else:
        assert "type" not in body
        assert set(body["error"]) == {"message", "type", "param", "code"}
    return body["error"]


@pytest.mark.parametrize(("path", "body"), PATHS.items())
async def test_an_unknown_field_is_refused_by_name(strict: Any, path: str, body: Any) -> None:
    answer = await strict.post(path, json={**body, "frobnicate": 1})
    assert answer.status_code == 422
    assert "'frobnicate'" in error_of(answer)["message"]


@pytest.mark.parametrize(("path", "body"), PATHS.items())
@pytest.mark.parametrize("raw", [b"", b"{", b"[1]", b"null", b'"x"', b"\xff", b"[" * 100_000])
async def test_what_is_no_object_is_422(client: Any, path: str, body: Any, raw: bytes) -> None:
    assert body
    answer = await client.post(path, content=raw)
    assert answer.status_code == 422
    assert "body" in error_of(answer)["message"]


@pytest.mark.parametrize(("path", "body"), PATHS.items())
@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("\\ud83d", "'model' has half of a surrogate pair, U+D83D"),
        ("\xed\xa0\xbd", "not JSON"),
        ('", "metadata": {"a": ["\\uDC00"]}, "user": "', "'metadata.a[0]' has half"),
        ('", "\\ud800": "', "a field's name has half"),
        ('", "metadata": {"a": NaN}, "user": "', "NaN is no JSON"),
        ('", "metadata": {"a": -Infinity}, "user": "', "-Infinity is no JSON"),
        ('", "metadata": {"a": 1e999}, "user": "', "1e999 is more than a number can be"),
        ('", "metadata": {"a": ' + "[" * 200 + "]" * 200 + '}, "user": "', "nested too deeply"),
    ],
)
async def test_what_could_not_be_passed_on_is_422(
    client: Any, path: str, body: Any, value: str, told: str
) -> None:
    """Templates, tokenizers and the answer's own bytes would fail at it, as an error of the server's."""
    raw = json.dumps({**body, "model": "HERE"}).replace("HERE", value).encode("latin-1")
    answer = await client.post(path, content=raw)
    assert answer.status_code == 422
    assert told in error_of(answer)["message"]


async def test_pairs_of_surrogates_are_characters(client: Any, model: ScriptedModel) -> None:
    raw = rb'{"model": "m", "prompt": "\ud83d\ude00 \\ud800"}'
    assert (await client.post("/v1/completions", content=b"\xef\xbb\xbf" + raw)).status_code == 200
    assert model.asked[0]["prompt"] == "\U0001f600 \\ud800"


@pytest.mark.parametrize("text", ['{"a": ' * 100_000, '{"a": NaN}', '{"a": "\\ud800"}', "[1]", '{"a"'])
async def test_arguments_that_are_no_object_stay_a_text(client: Any, model: ScriptedModel, text: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": text}}
    messages = [*USER, {"role": "assistant", "tool_calls": [call]}]
    answer = await client.post("/v1/chat/completions", json={**CHAT, "messages": messages})
    assert answer.status_code == 200, answer.text
    assert model.asked[0]["prompt"][1]["tool_calls"][0]["function"]["arguments"] == text


@pytest.mark.parametrize(("path", "body"), PATHS.items())
async def test_missing_and_wrong_fields_are_422_and_named(client: Any, path: str, body: Any) -> None:
    for name in body:
        rest = {key: value for key, value in body.items() if key != name}
        answer = await client.post(path, json=rest)
        assert answer.status_code == 422, name
        assert name in error_of(answer)["message"]
        answer = await client.post(path, json={**rest, name: {"no": 1} if name != "messages" else 3})
        assert answer.status_code == 422, name
        assert name in error_of(answer)["message"]


@pytest.mark.parametrize(("path", "body"), PATHS.items())
async def test_unknown_model(client: Any, path: str, body: Any) -> None:
    answer = await client.post(path, json={**body, "model": "other"})
    assert answer.status_code == 404
    assert "'other'" in error_of(answer)["message"]
    if path != "/v1/messages":
        assert error_of(answer)["code"] == "model_not_found"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {**CHAT, "messages": []}),
        ("/v1/completions", {**COMPLETION, "prompt": ""}),
        ("/v1/completions", {**COMPLETION, "prompt": []}),
        ("/v1/responses", {**RESPONSE, "input": []}),
        ("/v1/responses", {**RESPONSE, "input": ""}),
        ("/v1/messages", {**MESSAGE, "messages": []}),
        ("/v1/count_tokens", {"model": "m", "conversation": []}),
        ("/v1/count_tokens", {"model": "m", "conversation": ""}),
    ],
)
async def test_nothing_to_answer_is_400(client: Any, path: str, body: Any) -> None:
    answer = await client.post(path, json=body)
    assert answer.status_code == 400
    assert "empty" in error_of(answer)["message"]


UNSUPPORTED: list[tuple[str, str, Any]] = [
    ("/v1/chat/completions", "logprobs", True),
    ("/v1/chat/completions", "top_logprobs", 2),
    ("/v1/chat/completions", "response_format", {"type": "xml"}),
    ("/v1/chat/completions", "response_format", {"type": "json_schema", "json_schema": {"name": "x"}}),
    ("/v1/chat/completions", "modalities", ["text", "audio"]),
    ("/v1/chat/completions", "audio", {"voice": "x"}),
    ("/v1/chat/completions", "functions", [{"name": "f"}]),
    ("/v1/chat/completions", "prediction", {"type": "content"}),
    ("/v1/chat/completions", "verbosity", "low"),
    ("/v1/chat/completions", "service_tier", "flex"),
    ("/v1/completions", "echo", True),
    ("/v1/completions", "suffix", "x"),
    ("/v1/completions", "best_of", 3),
    ("/v1/completions", "logprobs", 2),
    ("/v1/completions", "prompt", ["a", "b"]),
    ("/v1/responses", "conversation", "conv_1"),
    ("/v1/responses", "background", True),
    ("/v1/responses", "truncation", "auto"),
    ("/v1/responses", "include", ["web_search_call.results"]),
    ("/v1/responses", "text", {"format": {"type": "grammar"}}),
    ("/v1/messages", "output_config", {"format": {"type": "json_schema"}}),
    ("/v1/responses", "tools", [{"type": "web_search"}]),
    ("/v1/messages", "container", "x"),
    ("/v1/messages", "mcp_servers", [{"url": "x"}]),
    ("/v1/messages", "tools", [{"type": "bash_20250124", "name": "bash"}]),
    ("/v1/chat/completions", "tool_choice", "required"),
    ("/v1/chat/completions", "chat_template_kwargs", {"no_such_switch": 1}),
    ("/v1/chat/completions", "chat_template_kwargs", {"messages": []}),
    ("/v1/chat/completions", "chat_template_kwargs", {"chat_template": "{{ 1 }}"}),
    ("/v1/chat/completions", "tools", [TOOL, TOOL]),
    ("/v1/responses", "tools", [{"type": "function", "name": "f"}, {"type": "function", "name": "f"}]),
    ("/v1/messages", "messages", [*USER, {"role": "assistant", "content": ""}]),
    (
        "/v1/messages",
        "messages",
        [*USER, {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f"}]}],
    ),
]


# Refused if requests are strict.
WISHES = [
    ("/v1/chat/completions", "prediction"), ("/v1/chat/completions", "verbosity"),
    ("/v1/chat/completions", "service_tier"), ("/v1/responses", "truncation"), ("/v1/responses", "include"),
    ("/v1/messages", "container"), ("/v1/messages", "mcp_servers"), ("/v1/completions", "best_of"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "name", "value"), UNSUPPORTED)
async def test_what_cannot_be_honoured_is_400(
    client: Any, strict: Any, path: str, name: str, value: Any
) -> None:
    answer = await (strict if (path, name) in WISHES else client).post(
        path, json={**PATHS[path], name: value}
    )
    assert answer.status_code == 400
    assert name in error_of(answer)["message"]


OUT_OF_RANGE: list[tuple[str, Any]] = [
    ("temperature", -1),
    ("temperature", "hot"),
    ("temperature", True),
    ("top_p", 0),
    ("top_p", 1.5),
    ("top_k", 1.5),
    ("min_p", 2),
    ("seed", -1),
    ("seed", "x"),
    ("presence_penalty", 3),
    ("repetition_penalty", 0),
    ("max_tokens", 0),
    ("max_tokens", 1.5),
    ("n", 0),
    ("n", 129),
    ("temperature", 1e-300),
    ("stop", "x" * 1025),
    ("stop", ["x" * 1000 + str(number) for number in range(17)]),
    ("stop", [""]),
    ("stop", 5),
    ("stream", "yes"),
    ("stream_options", {"include_usages": True}),
    ("tools", [{"type": "function"}]),
    ("tools", [{"type": "function", "function": {"name": ""}}]),
    ("tools", ["f"]),
    ("tool_choice", {"type": "custom"}),
    ("messages", [{"role": "robot", "content": "x"}]),
    ("messages", [{"role": "user"}]),
    ("messages", [{"role": "user", "content": [{"type": "text"}]}]),
    ("messages", ["x"]),
    ("messages", [{"role": "tool", "content": "x"}]),
]


@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE)
async def test_bad_values_are_422_and_named(client: Any, name: str, value: Any) -> None:
    answer = await client.post("/v1/chat/completions", json={**CHAT, name: value})
    assert answer.status_code == 422
    assert name in error_of(answer)["message"]
    assert (error_of(answer)["param"] or "").startswith(name)


WRONG_ITEMS: list[tuple[str, str, Any, str]] = [
    ("/v1/responses", "input", {"role": "user"}, "input[0].content"),
    ("/v1/responses", "input", {"type": "function_call_output", "call_id": "c"}, "input[0].output"),
    ("/v1/responses", "input", {"type": "reasoning", "summary": ["x"]}, "input[0].summary[0]"),
    ("/v1/responses", "input", {"type": "reasoning", "content": [{"text": 1}]}, "input[0].content[0].text"),
    ("/v1/messages", "messages", {"role": "user", "content": ["x"]}, "messages[0].content[0]"),
    *(
        ("/v1/messages", "messages", {"role": role, "content": [block]}, f"messages[0].content[0].{name}")
        for role, block, name in [
            ("assistant", {"type": "thinking", "thinking": 5}, "thinking"),
            ("user", {"type": "tool_result", "tool_use_id": "c", "nonsense": 1}, "nonsense"),
        ]
    ),
]


@pytest.mark.parametrize(("path", "name", "item", "place"), WRONG_ITEMS)
async def test_a_wrong_item_is_422_and_named(
    strict: Any, path: str, name: str, item: Any, place: str
) -> None:
    answer = await strict.post(path, json={**PATHS[path], name: [item]})
    assert answer.status_code == 422
    assert f"'{place}'" in error_of(answer)["message"]


@pytest.mark.parametrize("choice", [{"type": "auto", "x": 1}, {"type": "tool", "name": "f", "x": 1}])
async def test_a_choice_with_more_than_it_has_is_422(strict: Any, choice: Any) -> None:
    answer = await strict.post(
        "/v1/messages", json={**MESSAGE, "tools": [{"name": "f"}], "tool_choice": choice}
    )
    assert answer.status_code == 422
    assert "'tool_choice.x'" in error_of(answer)["message"]


async def test_a_tool_that_is_named_as_a_choice_cannot_be_chosen(client: Any) -> None:
    named = {"type": "function", "function": {"name": "none"}}
    answer = await client.post("/v1/chat/completions", json={**CHAT, "tools": [named], "tool_choice": named})
    assert answer.status_code == 400
    assert error_of(answer)["param"] == "tool_choice"


async def test_what_sdks_send_back_of_an_answer_is_taken(client: Any) -> None:
    call = {
        "id": "c1", "type": "function", "index": 0, "extra_content": None,
        "function": {"name": "f", "arguments": "{}", "parsed_arguments": {}},
    }  # fmt: skip
    answer = {"role": "assistant", "content": None, "parsed": None, "tool_calls": [call]}
    body = {**CHAT, "messages": [*USER, answer, {"role": "tool", "tool_call_id": "c1", "content": ""}]}
    assert (await client.post("/v1/chat/completions", json=body)).status_code == 200
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {}, "caller": {"type": "direct"}},
    ]
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "x", "cache_control": None}
    messages = [*USER, {"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}]
    answered = await client.post("/v1/messages", json={**MESSAGE, "messages": messages})
    assert answered.status_code == 200, answered.text


async def test_a_thread_is_refused_as_anthropics_tool_runner_expects(client: Any) -> None:
    answer = await client.post("/v1/messages", json={**MESSAGE, "thread": {"type": "create"}})
    assert answer.status_code == 400
    assert "'thread'" in error_of(answer)["message"]
    assert error_of(answer)["details"] == {
        "error_code": "thread_unsupported_request",
        "unsupported": ["thread"],
    }
    assert (await client.post("/v1/messages", json={**MESSAGE, "thread": None})).status_code == 200


async def test_reasoning_is_sent_once(client: Any, model: ScriptedModel) -> None:
    """An item with both has the text, and a summary of it."""
    texts = {"content": [{"type": "reasoning_text", "text": "long"}], "summary": [{"text": "short"}]}
    items = [{"role": "user", "content": "x"}, {"type": "reasoning", **texts}]
    answer = await client.post("/v1/responses", json={**RESPONSE, "input": items})
    assert answer.status_code == 200, answer.text
    assert model.asked[0]["prompt"][1]["reasoning_content"] == "long"


async def test_media_is_refused(client: Any) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    message = {"role": "user", "content": [{"type": "text", "text": "Look: "}, image]}
    answer = await client.post("/v1/chat/completions", json={**CHAT, "messages": [message]})
    assert answer.status_code == 400
    assert "messages[0].content[1]" in error_of(answer)["message"]


async def test_too_long(make_client: Any, model: ScriptedModel) -> None:
    client = make_client({"m": model}, max_body_bytes=1000)
    answer = await client.post("/v1/chat/completions", json={**CHAT, "user": "x" * 1000})
    assert answer.status_code == 413
    long = [{"role": "user", "content": "x" * 200_000}]
    answer = await make_client({"m": model}).post("/v1/chat/completions", json={**CHAT, "messages": long})
    assert answer.status_code == 200


async def test_sampling_reaches_the_model(client: Any, model: ScriptedModel) -> None:
    sampling = {
        "temperature": 0.5, "top_p": 0.9, "top_k": 7, "min_p": 0.1, "seed": 4, "n": 1, "stop": ["a", "b"],
        "presence_penalty": 0.1, "frequency_penalty": 0.2, "repetition_penalty": 1.1, "max_completion_tokens": 9,
    }  # fmt: skip
    answer = await client.post("/v1/chat/completions", json={**CHAT, **sampling, "max_tokens": 9})
    assert answer.status_code == 200, answer.text
    asked = model.asked[0]["sampling"]
    assert asked.max_tokens == 9
    assert asked.stop == ("a", "b")
    for name in ("temperature", "top_p", "top_k", "min_p", "seed", "n", "repetition_penalty"):
        assert getattr(asked, name) == sampling[name]


@pytest.mark.parametrize(("path", "body"), PATHS.items())
async def test_engines_sampling_fields_reach_the_model(
    client: Any, model: ScriptedModel, path: str, body: Any
) -> None:
    fields: dict[str, Any] = {
        "min_tokens": 2, "stop_token_ids": [5, 6], "ignore_eos": True, "bad_words": ["no"], "allowed_token_ids": [1, 2],
        "logit_bias": {"7": -3.5}, "skip_special_tokens": False, "include_stop_str_in_output": True,
    }  # fmt: skip
    answer = await client.post(path, json={**body, **fields})
    assert answer.status_code == 200, answer.text
    assert "x-unspool-ignored" not in answer.headers
    asked = model.asked[0]["sampling"]
    assert asked.stop_token_ids == (5, 6)
    assert asked.logit_bias == {7: -3.5}
    assert asked.include_stop
    for name in ("min_tokens", "ignore_eos", "skip_special_tokens"):
        assert getattr(asked, name) == fields[name]
    for name, value in (
        ("logit_bias", {"x": 1}),
        ("logit_bias", {"7": 101}),
        ("min_tokens", -1),
        ("bad_words", [""]),
    ):
        answer = await client.post(path, json={**body, name: value})
        assert answer.status_code == 422
        assert name in error_of(answer)["message"]


async def test_the_last_message_is_continued_on_demand(client: Any, model: ScriptedModel) -> None:
    begun = {**CHAT, "messages": [*USER, {"role": "assistant", "content": "Hel"}]}
    answer = await client.post(
        "/v1/chat/completions", json={**begun, "continue_final_message": True, "add_generation_prompt": False}
    )
    assert (answer.status_code, model.asked[-1].get("prefill")) == (200, True)
    assert "x-unspool-ignored" not in answer.headers
    await client.post(
        "/v1/chat/completions", json={**begun, "continue_final_message": False, "add_generation_prompt": True}
    )
    assert "prefill" not in model.asked[-1]
    both = {"continue_final_message": True, "add_generation_prompt": True}
    answer = await client.post("/v1/chat/completions", json={**begun, **both})
    assert (answer.status_code, error_of(answer)["param"]) == (400, "add_generation_prompt")


async def test_what_changes_nothing_is_taken(client: Any) -> None:
    harmless = {
        "user": "u", "store": True, "metadata": {"a": "b"}, "safety_identifier": "s", "logprobs": False,
        "service_tier": "auto", "parallel_tool_calls": True, "tool_choice": "auto", "logit_bias": {},
        "response_format": {"type": "text"}, "modalities": ["text"], "tools": [], "stop": None,
    }  # fmt: skip
    answer = await client.post("/v1/chat/completions", json={**CHAT, **harmless})
    assert answer.status_code == 200, answer.text


async def test_messages_are_what_templates_read(client: Any, model: ScriptedModel) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"word": "a"}'}}
    messages = [
        {
            "role": "developer",
            "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}],
        },
        *USER,
        {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
    ]
    answer = await client.post("/v1/chat/completions", json={**CHAT, "messages": messages})
    assert answer.status_code == 200, answer.text
    assert model.asked[0]["prompt"] == [
        {"role": "system", "content": "Be brief."},
        *USER,
        {
            "role": "assistant",
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": {"word": "a"}}}
            ],
            "content": "",
        },
        {"role": "tool", "tool_call_id": "c1", "content": "found", "name": "look_up"},
    ]


async def test_the_same_conversation_in_three_protocols(client: Any, model: ScriptedModel) -> None:
    """One chat in each protocol's own words reaches the model as the same messages and tools."""
    function = TOOL["function"]
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "look_up", "arguments": json.dumps({"word": "a"})},
    }
    chat = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            *USER,
            {"role": "assistant", "content": "Wait.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
            {"role": "user", "content": "And?"},
        ],
        "tools": [TOOL],
        "parallel_tool_calls": False,
    }
    response = {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Wait."}]},
            {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": '{"word": "a"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "found"},
            {"role": "user", "content": "And?"},
        ],
        "tools": [{"type": "function", **function}],
        "parallel_tool_calls": False,
    }
    message = {
        "model": "m",
        "max_tokens": 10,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            *USER,
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Wait."},
                    {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"word": "a"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "found"}],
                    },
                    {"type": "text", "text": "And?"},
                ],
            },
        ],
        "tools": [
            {
                "name": "look_up",
                "description": function["description"],
                "input_schema": function["parameters"],
            }
        ],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    }
    for path, body in (
        ("/v1/chat/completions", chat),
        ("/v1/responses", response),
        ("/v1/messages", message),
    ):
        answer = await client.post(path, json=body)
        assert answer.status_code == 200, answer.text
    first, second, third = model.asked
    assert first["prompt"] == second["prompt"] == third["prompt"]
    assert first["tools"] == second["tools"] == third["tools"] == [TOOL]
    assert not first["parallel_tool_calls"]
    assert not second["parallel_tool_calls"]
    assert not third["parallel_tool_calls"]


async def test_tool_choice_narrows_what_the_template_shows(client: Any, model: ScriptedModel) -> None:
    other = {"type": "function", "function": {"name": "other"}}
    body = {**CHAT, "tools": [TOOL, other]}
    for choice, shown in (("auto", [TOOL, other]), ("none", None)):
        await client.post("/v1/chat/completions", json={**body, "tool_choice": choice})
        assert model.asked[-1]["tools"] == shown
        assert model.asked[-1]["tool_choice"] == choice
    named = {"type": "function", "function": {"name": "other"}}
    await client.post("/v1/chat/completions", json={**body, "tool_choice": named})
    assert model.asked[-1]["tools"] == [other]
    assert model.asked[-1]["tool_choice"] == "other"
    answer = await client.post(
        "/v1/chat/completions", json={**body, "tool_choice": {"type": "function", "function": {"name": "x"}}}
    )
    assert answer.status_code == 400


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "look_up"}}])
async def test_an_answer_without_the_demanded_call_is_an_error(client: Any, choice: Any) -> None:
    body = {**CHAT, "tools": [TOOL], "tool_choice": choice}
    whole = await client.post("/v1/chat/completions", json=body)
    assert whole.status_code == 422, "no SDK sends a request with this status again"
    error = error_of(whole)
    assert (error["code"], error["param"]) == ("no_tool_call", "tool_choice")
    assert "It wrote: 'Hi'" in error["message"], "the answer is not lost"
    streamed = await client.post("/v1/chat/completions", json={**body, "stream": True})
    assert "no_tool_call" in streamed.text
    assert "[DONE]" not in streamed.text


async def test_a_budget_of_reasoning_in_each_protocols_words(client: Any, model: ScriptedModel) -> None:
    for path, field in (
        ("/v1/chat/completions", {"max_reasoning_tokens": 7}),
        ("/v1/chat/completions", {"thinking_token_budget": 7}),
        ("/v1/chat/completions", {"reasoning": {"max_tokens": 7}}),
        ("/v1/responses", {"reasoning": {"max_tokens": 7}}),
        ("/v1/responses", {"max_reasoning_tokens": 7}),
        ("/v1/messages", {"thinking": {"type": "enabled", "budget_tokens": 7}}),
    ):
        answer = await client.post(path, json={**PATHS[path], **field})
        assert answer.status_code == 200, answer.text
        assert model.asked[-1]["sampling"].max_reasoning_tokens == 7
    answer = await client.post("/v1/chat/completions", json={**CHAT, "max_reasoning_tokens": -1})
    assert answer.status_code == 422
    assert "max_reasoning_tokens" in error_of(answer)["message"]


async def test_reasoning_effort_is_the_templates_own_switch(
    client: Any, make_client: Any, model: ScriptedModel
) -> None:
    """The template knows enable_thinking and nothing else."""
    for path, field in (
        ("/v1/chat/completions", {"reasoning_effort": "none"}),
        ("/v1/responses", {"reasoning": {"effort": "none"}}),
        ("/v1/messages", {"thinking": {"type": "disabled"}}),
        ("/v1/chat/completions", {"chat_template_kwargs": {"enable_thinking": False}}),
    ):
        answer = await client.post(path, json={**PATHS[path], **field})
        assert answer.status_code == 200, answer.text
        assert model.asked[-1]["chat_template_kwargs"] == {"enable_thinking": False}
    await client.post("/v1/chat/completions", json={**CHAT, "reasoning_effort": "high"})
    assert model.asked[-1]["chat_template_kwargs"] == {"enable_thinking": True}
    answer = await client.post("/v1/chat/completions", json={**CHAT, "reasoning_effort": "very"})
    assert answer.status_code == 400
    assert "'very' is not one of none," in error_of(answer)["message"]
    model.template_names = ()
    strict = make_client({"m": model}, strict_requests=True)
    answer = await strict.post("/v1/chat/completions", json={**CHAT, "reasoning_effort": "high"})
    assert answer.status_code == 400
    assert "effort" in error_of(answer)["message"]


async def test_no_such_path_or_method(client: Any) -> None:
    assert (await client.get("/v1/nothing")).status_code == 404
    answer = await client.get("/v1/chat/completions")
    assert answer.status_code == 405
    assert "GET" in error_of(answer)["message"]
    answer = await client.get("/v1/messages")
    assert error_of(answer)["type"] == "invalid_request_error"


async def test_counts(client: Any) -> None:
    answer = await client.post("/v1/count_tokens", json={"model": "m", "conversation": "abc"})
    assert answer.json() == {"model": "m", "count": 3}
    answer = await client.post("/v1/messages/count_tokens", json={"model": "m", "messages": USER})
    assert answer.json() == {"input_tokens": 1}
    answer = await client.post("/tokenize", json={"model": "m", "prompt": "abc"})
    assert answer.status_code == 400


async def test_what_counts_is_what_is_asked(make_client: Any, generator: Any) -> None:
    """Reasoning on or off changes what the template writes, here by a few tokens."""
    client = make_client({"m": generator})
    for field in (
        {},
        {"thinking": {"type": "disabled"}},
        {"chat_template_kwargs": {"enable_thinking": False}},
    ):
        body = {"model": "m", "messages": USER, **field}
        answer = (await client.post("/v1/messages", json={**body, "max_tokens": 2})).json()
        counted = (await client.post("/v1/messages/count_tokens", json=body)).json()
        usage = answer["usage"]
        assert counted["input_tokens"] == usage["input_tokens"] + usage.get("cache_read_input_tokens", 0)


async def test_tokenize_runs_the_servers_template_alone(make_client: Any, generator: Any) -> None:
    client = make_client({"m": generator})
    for name, value in (("chat_template", "{{ 1 }}"), ("tokenize", False), ("no_such_switch", 1)):
        body = {"model": "m", "messages": USER, "chat_template_kwargs": {name: value}}
        answer = await client.post("/tokenize", json=body)
        assert answer.status_code == 400
        assert name in error_of(answer)["message"]
    body = {"model": "m", "prompt": "x", "tools": [TOOL]}
    answer = await make_client({"m": generator}, strict_requests=True).post("/tokenize", json=body)
    assert answer.status_code == 422


@pytest.mark.parametrize("id", [-1, 263, 2**31, 10**30])
@pytest.mark.parametrize("stream", [False, True])
async def test_ids_that_are_none_of_the_models_are_400(
    make_client: Any, generator: Any, id: int, stream: bool
) -> None:
    """An embedding that is asked for them raises, and on a GPU ends the process."""
    body = {"model": "m", "prompt": [1, id], "max_tokens": 2, "stream": stream}
    answer = await make_client({"m": generator}).post("/v1/completions", json=body)
    assert answer.status_code == 400
    assert "token id" in error_of(answer)["message"] or "input_ids" in error_of(answer)["message"]


@pytest.mark.parametrize("block", [{"type": "text", "text": "It is"}, {"type": "thinking", "thinking": "Hm"}])
async def test_an_answer_that_the_client_has_begun(make_client: Any, block: Any) -> None:
    model = ScriptedModel(lambda script: script.put(" 18."))
    body = {"model": "m", "max_tokens": 10, "messages": [*USER, {"role": "assistant", "content": [block]}]}
    client = make_client({"m": model})
    answer = (await client.post("/v1/messages", json=body)).json()
    assert [block["text"] for block in answer["content"]] == [" 18."]
    assert model.asked[0]["prefill"] is True
    assert model.asked[0]["prompt"][-1]["role"] == "assistant"
    counted = await client.post("/v1/messages/count_tokens", json=body)
    assert counted.json() == {"input_tokens": 2}
    await client.post("/v1/messages", json={**body, "messages": USER})
    assert "prefill" not in model.asked[1]


async def test_a_model_that_cannot_continue(make_client: Any) -> None:
    class Older:
        def stream(self, _: Any) -> None:
            raise AssertionError

    body = {"model": "m", "max_tokens": 10, "messages": [*USER, {"role": "assistant", "content": "It is"}]}
    answer = await make_client({"m": Older()}).post("/v1/messages", json=body)
    assert answer.status_code == 400
    assert "does not support a prefill" in error_of(answer)["message"]


def test_the_same_tools_are_in_memory_once() -> None:
    """An answer keeps its tools until its end, and an agent sends the same ones in each turn."""

    def offered(text: str) -> Any:
        return read_chat_request({**CHAT, "tools": json.loads(text)}).tools.offered

    text = json.dumps([TOOL])
    assert offered(text) is offered(text)
    assert offered(text) is not offered(text.replace('"word"', '"term"'))
    # Templates show them in the client's order.
    function = {"description": "x", "name": "g"}
    other = dict(reversed(function.items()))
    texts = [json.dumps([{"type": "function", "function": one}]) for one in (function, other)]
    assert [list(offered(one)[0]["function"]) for one in texts] == [
        ["description", "name"],
        ["name", "description"],
    ]


async def test_an_answer_does_not_keep_its_prompt(make_client: Any) -> None:
    """A conversation may be long, and the model may run for minutes."""
    message = {"role": "user", "content": "A prompt of its own"}
    kept: list[Any] = []

    def script(script: Script) -> None:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            found = [item._request for item in gc.get_objects() if type(item) is Answer]
            kept[:] = [request for request in found if request.prompt and "its own" in str(request.prompt)]
            if not kept:
                break
        script.put("Hi")

    body = {"model": "m", "messages": [message]}
    assert (
        await make_client({"m": ScriptedModel(script)}).post("/v1/chat/completions", json=body)
    ).status_code == 200
    assert kept == []
