"""A client's wish is no command: what changes no answer is ignored and said; what would make it wrong is refused."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from .conftest import TOOL, USER, ScriptedModel

pytestmark = pytest.mark.anyio

CHAT = {"model": "m", "messages": USER}
RESPONSE = {"model": "m", "input": "Hello"}
MESSAGE = {"model": "m", "messages": USER, "max_tokens": 50}
BODIES = {"/v1/chat/completions": CHAT, "/v1/responses": RESPONSE, "/v1/messages": MESSAGE}
FLAT_TOOL = {"type": "function", "name": "look_up", "parameters": {"type": "object"}}
CUSTOM_TOOL = {"name": "look_up", "input_schema": {"type": "object"}}


@pytest.fixture
def model() -> ScriptedModel:
    model = ScriptedModel(lambda script: script.put("Hi"))
    model.template_names = ("messages", "tools")  # without a switch of reasoning
    return model


@pytest.fixture
def client(make_client: Any, model: ScriptedModel) -> Any:
    return make_client({"m": model})


WISHES: list[tuple[str, dict[str, Any], str]] = [
    ("/v1/chat/completions", {"reasoning_effort": "high"}, "reasoning_effort"),
    ("/v1/chat/completions", {"reasoning_effort": "none"}, "reasoning_effort"),
    ("/v1/chat/completions", {"verbosity": "low", "service_tier": "flex"}, "verbosity, service_tier"),
    ("/v1/chat/completions", {"field_of_next_month": [1]}, "field_of_next_month"),
    ("/v1/chat/completions", {"models": ["m"]}, "models"),  # no misspelling, since `model` is there
    ("/v1/chat/completions", {"stream_options": {"field_of_next_month": 1}}, "stream_options.field_of_next_month"),
    ("/v1/chat/completions", {"tools": [TOOL, {"type": "web_search"}]}, "tools[1] (web_search)"),
    ("/v1/chat/completions", {"add_generation_prompt": False}, "add_generation_prompt"),
    ("/v1/responses", {"reasoning": {"effort": "low"}}, "reasoning.effort"),
    ("/v1/responses", {"text": {"verbosity": "high"}}, "text.verbosity"),
    ("/v1/responses", {"truncation": "auto", "store": True}, "truncation, store"),
    ("/v1/responses", {"include": ["file_search_call.results"]}, "include"),
    ("/v1/responses", {"tools": [{"type": "image_generation"}, FLAT_TOOL]}, "tools[0] (image_generation)"),
    ("/v1/messages", {"thinking": {"type": "disabled"}}, "thinking"),
    ("/v1/messages", {"thinking": {"type": "enabled", "budget_tokens": 9}}, "thinking"),
    ("/v1/messages", {"output_config": {"effort": "high"}}, "output_config.effort"),
    ("/v1/messages", {"speed": "fast", "context_management": {"edits": [1]}}, "speed, context_management"),
    ("/v1/messages", {"tools": [CUSTOM_TOOL, {"type": "bash_20250124", "name": "bash"}]}, "tools[1] (bash_20250124)"),
]  # fmt: skip


# What vLLM, SGLang, TGI and llama.cpp take beside OpenAI's fields and those that are honoured here.
ENGINES_FIELDS = [
    "spaces_between_special_tokens", "use_beam_search", "length_penalty", "prompt_logprobs", "truncate_prompt_tokens",
    "detokenize", "echo_prompt", "priority", "request_id", "cache_salt", "kv_transfer_params", "vllm_xargs", "mm_processor_kwargs",
    "documents", "return_token_ids", "return_tokens_as_token_ids", "add_special_tokens", "lora_path", "ebnf", "regex",
    "no_stop_trim", "min_new_tokens", "separate_reasoning", "stream_reasoning", "rid", "session_params", "custom_params",
    "stop_regex", "return_hidden_states", "typical_p", "watermark", "top_n_tokens", "decoder_input_details", "best",
    "mirostat", "mirostat_tau", "mirostat_eta", "n_probs", "min_keep", "n_keep", "n_predict", "top_a", "top_n_sigma", "tfs_z",
    "xtc_probability", "xtc_threshold", "dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n",
    "dry_sequence_breakers", "dynatemp_range", "dynatemp_exponent", "repeat_last_n", "repeat_penalty", "samplers", "cache_prompt",
    "id_slot", "t_max_predict_ms", "timings_per_token", "post_sampling_probs", "response_fields", "penalize_nl", "keep_alive",
]  # fmt: skip


@pytest.mark.parametrize("path", BODIES)
async def test_an_engines_own_field_is_no_error(client: Any, path: str) -> None:
    for name in ENGINES_FIELDS:
        answer = await client.post(path, json={**BODIES[path], name: 0.5})
        assert (answer.status_code, answer.headers.get("x-unspool-ignored")) == (200, name)


@pytest.mark.parametrize(("path", "fields", "said"), WISHES)
async def test_a_wish_is_ignored_and_said(
    client: Any, make_client: Any, model: ScriptedModel, path: str, fields: Any, said: str, caplog: Any
) -> None:
    caplog.set_level(logging.INFO, "unspool.serve")
    for stream in (False, True):
        answer = await client.post(path, json={**BODIES[path], **fields, "stream": stream})
        assert answer.status_code == 200, answer.text
        assert sorted(answer.headers["x-unspool-ignored"].split(", ")) == sorted(said.split(", "))
    assert sum(record.message.startswith("ignored ") for record in caplog.records) == 2
    assert "x-unspool-ignored" not in (await client.post(path, json=BODIES[path])).headers
    strict = await make_client({"m": model}, strict_requests=True).post(path, json={**BODIES[path], **fields})
    assert strict.status_code in (400, 422), strict.text
    assert any(field.split(" ")[0] in strict.text for field in said.split(", "))


async def test_the_metric_has_only_names_of_ours(client: Any) -> None:
    body = {
        **CHAT,
        "verbosity": "low",
        "a_client's_own": 1,
        "another": 1,
        "tools": [TOOL, {"type": "a"}, {"type": "b"}],
    }
    for _ in range(2):
        await client.post("/v1/chat/completions", json=body)
    lines = [line for line in (await client.get("/metrics")).text.split("\n") if "ignored_total{" in line]
    assert sorted(lines) == [
        f'unspool_ignored_total{{field="{field}"}} 2.0' for field in ("tools", "unknown field", "verbosity")
    ]


async def test_the_header_is_bounded_and_plain(client: Any) -> None:
    fields = {f"field\r\nx-evil: {index} é" + "x" * 500: 1 for index in range(500)}
    answer = await client.post("/v1/chat/completions", json={**CHAT, **fields})
    assert answer.status_code == 200
    assert len(answer.headers["x-unspool-ignored"]) < 5000
    assert "x-evil" not in answer.headers


async def test_many_unknown_fields_are_compared_a_few_times(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unspool.serve.wires import wire

    compared = []
    monkeypatch.setattr(wire, "_is_misspelt", lambda *names: compared.append(names))
    messages = [{"role": "user", "content": "x", "new": 1}] * 5000
    answer = await client.post("/v1/chat/completions", json={**CHAT, "messages": messages})
    assert answer.headers["x-unspool-ignored"] == "messages[0].new"
    assert len(compared) < 10
    fields = {f"field_of_next_month_{index}": index for index in range(1000)}
    answer = await client.post("/v1/chat/completions", json={**CHAT, **fields, "x" * 1_000_000: 1})
    assert answer.status_code == 200
    assert len(compared) < 20 * 100


@pytest.mark.parametrize(
    ("path", "name", "meant"),
    [
        ("/v1/chat/completions", "max_token", "max_tokens"),
        ("/v1/chat/completions", "maxTokens", "max_tokens"),
        ("/v1/chat/completions", "temperatur", "temperature"),
        ("/v1/chat/completions", "tool-choice", "tool_choice"),
        ("/v1/responses", "insructions", "instructions"),
        ("/v1/messages", "stop_seqeunces", "stop_sequences"),
    ],
)
async def test_a_misspelled_field_is_named(client: Any, path: str, name: str, meant: str) -> None:
    answer = await client.post(path, json={**BODIES[path], name: 1})
    assert answer.status_code == 422
    assert f"unknown field: '{name}'; is '{meant}' meant?" in answer.json()["error"]["message"]


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("/v1/chat/completions", {"tools": [{"type": "web_search"}]}, "web_search"),  # nothing is left
    ("/v1/chat/completions", {"chat_template_kwargs": {"enable_thinking": True}}, "enable_thinking"),
    ("/v1/chat/completions", {"reasoning_effort": "very"}, "very"),
    ("/v1/chat/completions", {"modalities": ["audio"]}, "modalities"),
    ("/v1/chat/completions", {"response_format": {"type": "json_object", "pattern": "a"}}, "pattern"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:,"}}]}]}, "image_url"),
    ("/v1/responses", {"background": True}, "background"),
    ("/v1/responses", {"input": [{"type": "message", "role": "user", "content": [{"type": "input_image"}]}]},
     "input_image"),
    ("/v1/messages", {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]}, "image"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "fields", "named"), REFUSED)
async def test_what_would_make_the_answer_wrong_is_refused(
    client: Any, path: str, fields: Any, named: str
) -> None:
    answer = await client.post(path, json={**BODIES[path], **fields})
    assert answer.status_code in (400, 422)
    assert named in answer.json()["error"]["message"]


async def test_a_vendors_tools_are_not_shown(client: Any, model: ScriptedModel) -> None:
    await client.post("/v1/responses", json={**RESPONSE, "tools": [{"type": "web_search"}, FLAT_TOOL]})
    await client.post(
        "/v1/chat/completions", json={**CHAT, "tools": [TOOL, {"type": "mcp", "server_url": "x"}]}
    )
    assert [[tool["function"]["name"] for tool in asked["tools"]] for asked in model.asked] == [
        ["look_up"]
    ] * 2


OUTPUTS = [
    ("/v1/chat/completions", {"messages": [*USER, {"role": "tool", "tool_call_id": "a", "content": [
        {"type": "text", "text": "see "}, {"type": "image_url", "image_url": {"url": "data:,"}}]}]}),
    ("/v1/responses", {"input": [
        {"type": "function_call", "call_id": "a", "name": "look_up", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": [
            {"type": "input_text", "text": "see "}, {"type": "input_image", "image_url": "data:,"}]}]}),
    ("/v1/messages", {"messages": [*USER,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look_up", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [
            {"type": "text", "text": "see "}, {"type": "image", "source": {}}]}]}]}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "fields"), OUTPUTS)
async def test_an_image_of_a_tool_is_named(client: Any, model: ScriptedModel, path: str, fields: Any) -> None:
    answer = await client.post(path, json={**BODIES[path], **fields})
    assert answer.status_code == 200, answer.text
    assert "image" in answer.headers["x-unspool-ignored"]
    (result,) = (message for message in model.asked[0]["prompt"] if message["role"] == "tool")
    assert result["content"] == "see [image]"


async def test_what_a_vendor_ran_is_left_out_of_the_history(client: Any, model: ScriptedModel) -> None:
    ran = [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
           {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}]  # fmt: skip
    history = [*USER, {"role": "assistant", "content": [*ran, {"type": "text", "text": "Found."}]}, *USER]
    answer = await client.post("/v1/messages", json={**MESSAGE, "messages": history})
    assert answer.status_code == 200, answer.text
    items = [
        {"type": "web_search_call", "id": "ws", "status": "completed"},
        {"role": "user", "content": "Hello"},
    ]
    answer = await client.post("/v1/responses", json={**RESPONSE, "input": items})
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-unspool-ignored"] == "input[0] (web_search_call)"
    assert model.asked[0]["prompt"][1] == {"role": "assistant", "content": "Found."}
    assert model.asked[1]["prompt"] == USER
