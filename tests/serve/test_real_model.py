"""The server over `StreamGenerator`, on a tiny random Llama."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import httpx
import pytest
import torch
from unspool import AnswerRequest, StreamGenerator, StreamResult
from unspool.generation import model_run

from .conftest import TEMPLATE, USER, events_of, running

pytestmark = pytest.mark.anyio

CHAT = {"model": "m", "messages": USER, "max_tokens": 24}


async def test_the_same_text_in_every_protocol(make_client: Any, generator: StreamGenerator) -> None:
    """And the same as `generate` says; with the tokens counted alike."""
    wanted = generator.generate(USER, max_new_tokens=24)
    assert wanted.finish_reason == "length"
    client = make_client({"m": generator})
    whole = (await client.post("/v1/chat/completions", json=CHAT)).json()
    assert whole["choices"][0]["message"]["content"] == wanted.text
    assert whole["choices"][0]["finish_reason"] == "length"
    assert whole["usage"]["prompt_tokens"] == wanted.usage.prompt_tokens
    assert whole["usage"]["completion_tokens"] == 24
    assert whole["usage"]["tokens_per_second"] > 0
    assert 0 < whole["usage"]["first_token_time"] < whole["usage"]["processing_time"]
    streamed = await client.post("/v1/chat/completions", json={**CHAT, "stream": True})
    chunks = [data for _, data in events_of(streamed.text)][:-1]
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks) == wanted.text
    message = (await client.post("/v1/messages", json=CHAT)).json()
    assert [block["text"] for block in message["content"]] == [wanted.text]
    cached = message["usage"].get("cache_read_input_tokens", 0)
    assert message["usage"]["input_tokens"] + cached == wanted.usage.prompt_tokens
    response = {"model": "m", "input": USER[0]["content"], "max_output_tokens": 24}
    answer = (await client.post("/v1/responses", json=response)).json()
    assert answer["output"][0]["content"][0]["text"] == wanted.text
    assert answer["status"] == "incomplete"


async def test_a_second_turn_says_what_was_cached(make_client: Any, generator: StreamGenerator) -> None:
    if generator.backend != "batched":
        pytest.skip("has no cache of requests")
    client, messages = make_client({"m": generator}), list(USER)
    first = (await client.post("/v1/chat/completions", json=CHAT)).json()
    messages += [first["choices"][0]["message"] | {"content": "A"}, {"role": "user", "content": "And?"}]
    second = (await client.post("/v1/chat/completions", json={**CHAT, "messages": messages})).json()
    cached = second["usage"]["prompt_tokens_details"]["cached_tokens"]
    # The first prompt in whole pages of 8; the answer is another one.
    assert 0 <= first["usage"]["prompt_tokens"] - cached < 8


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
async def test_the_result_of_a_request_is_built_once(
    make_client: Any, generator: StreamGenerator, monkeypatch: pytest.MonkeyPatch, path: str, stream: bool
) -> None:
    """It has the message of each choice, which is not free."""
    built = []

    def build(**fields: Any) -> StreamResult:
        built.append(StreamResult(**fields))
        return built[-1]

    monkeypatch.setattr(model_run, "StreamResult", build)
    answer = await make_client({"m": generator}).post(path, json={**CHAT, "stream": stream})
    assert answer.status_code == 200
    assert [result.usage.completion_tokens for result in built] == [24]


async def test_counts_are_those_of_the_usage(make_client: Any, generator: StreamGenerator) -> None:
    client = make_client({"m": generator})
    usage = (await client.post("/v1/chat/completions", json=CHAT)).json()["usage"]
    counted = await client.post("/v1/count_tokens", json={"model": "m", "conversation": USER})
    assert counted.json() == {"model": "m", "count": usage["prompt_tokens"]}
    tokens = (await client.post("/tokenize", json={"model": "m", "messages": USER})).json()
    assert tokens["count"] == len(tokens["tokens"]) == usage["prompt_tokens"]
    assert generator.tokenizer.decode(tokens["tokens"]).endswith("<|im_start|>assistant\n")
    text = (await client.post("/tokenize", json={"model": "m", "prompt": "abc"})).json()
    assert generator.tokenizer.decode(text["tokens"]) == "abc"
    counted = await client.post("/v1/messages/count_tokens", json={"model": "m", "messages": USER})
    assert counted.json() == {"input_tokens": usage["prompt_tokens"]}


async def test_completions_of_text_and_of_ids(make_client: Any, generator: StreamGenerator) -> None:
    client = make_client({"m": generator})
    wanted = generator.generate("abc", max_new_tokens=12, raw=True)
    ids = generator.tokenizer.encode("abc", add_special_tokens=False)
    for prompt in ("abc", ["abc"], ids, [ids]):
        answer = await client.post("/v1/completions", json={"model": "m", "prompt": prompt, "max_tokens": 12})
        assert answer.json()["choices"][0]["text"] == wanted.text


async def test_seeds_several_answers_and_greedy_ones(make_client: Any, generator: StreamGenerator) -> None:
    client = make_client({"m": generator})
    sampled = {**CHAT, "n": 2, "temperature": 1.0, "seed": 7}
    first = (await client.post("/v1/chat/completions", json=sampled)).json()["choices"]
    again = (await client.post("/v1/chat/completions", json=sampled)).json()["choices"]
    assert [c["index"] for c in first] == [0, 1]
    assert first == again
    assert first[0]["message"] != first[1]["message"]
    refused = await client.post("/v1/chat/completions", json={**CHAT, "n": 2})
    assert refused.status_code == 400
    assert "greedy" in refused.json()["error"]["message"]


async def test_template_switches(make_client: Any, generator: StreamGenerator) -> None:
    """What the template reads is honoured, what it does not read is refused."""
    client = make_client({"m": generator})
    plain = (await client.post("/v1/chat/completions", json=CHAT)).json()["usage"]["prompt_tokens"]
    for switch in ({"reasoning_effort": "none"}, {"chat_template_kwargs": {"enable_thinking": False}}):
        answer = (await client.post("/v1/chat/completions", json={**CHAT, **switch})).json()
        assert answer["usage"]["prompt_tokens"] > plain
    refused = await client.post("/v1/chat/completions", json={**CHAT, "chat_template_kwargs": {"thinkng": 1}})
    assert refused.status_code == 400


async def test_stop(make_client: Any, generator: StreamGenerator) -> None:
    text = generator.generate(USER, max_new_tokens=24).text
    stop = next(text[at : at + 2] for at in range(4, len(text) - 2) if text.find(text[at : at + 2]) == at)
    client = make_client({"m": generator})
    answer = (await client.post("/v1/chat/completions", json={**CHAT, "stop": stop})).json()
    assert answer["choices"][0]["message"]["content"] == text[: text.index(stop)]
    assert answer["choices"][0]["finish_reason"] == "stop"
    message = (await client.post("/v1/messages", json={**CHAT, "stop_sequences": [stop]})).json()
    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", stop)


@pytest.mark.parametrize(("choice", "content"), [("auto", "Wait."), ("required", "")])
async def test_calls_of_a_real_tokenizer(
    make_client: Any, llama: Any, tokenizer: Any, choice: str, content: str
) -> None:
    """A model that is made to write a call: by ids, through template, generate and parser."""
    call = '<tool_call>\n{"name": "look_up", "arguments": {"word": "a"}}\n</tool_call>'
    written = f"<think>Hm.</think>{content}{call}"
    ids = [*tokenizer.encode(written, add_special_tokens=False), tokenizer.eos_token_id]

    def force(_: Any, scores: Any) -> Any:
        forced = torch.full_like(scores, -torch.inf)
        forced[:, ids[force.step]] = 0.0  # type: ignore[attr-defined]
        force.step += 1  # type: ignore[attr-defined]
        return forced

    class Forced(StreamGenerator):
        def begin(self, request: AnswerRequest) -> Any:
            force.step = 0  # type: ignore[attr-defined]
            return super().begin(replace(request, generate_options={"logits_processor": [force]}))

    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
    client = make_client({"m": Forced(llama, tokenizer, format="qwen3")})
    body = {**CHAT, "max_tokens": 200, "tools": tools, "tool_choice": choice}
    answer = (await client.post("/v1/chat/completions", json=body)).json()
    message = answer["choices"][0]["message"]
    assert (message["content"] or "", message["reasoning_content"]) == (content, "Hm.")
    assert message["tool_calls"][0]["function"]["name"] == "look_up"
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"word": "a"}
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert answer["usage"]["completion_tokens"] == len(ids)
    assert answer["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0


def test_the_command_serves_a_folder(llama: Any, tokenizer: Any, tmp_path: Any) -> None:
    """`unspool serve FOLDER`, and the official client."""
    openai = pytest.importorskip("openai")
    from unspool.serve.command.serve_command import read_command

    llama.save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    settings = {"backend": "native", "device": "cpu", "dtype": "float32", "max_new_tokens": 7}
    load, _ = read_command(str(tmp_path / "tiny"), settings)
    with running(load) as server:
        while httpx.get(f"http://127.0.0.1:{server.port}/readiness").status_code == 503:
            time.sleep(0.05)
        with openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none") as client:
            answer = client.chat.completions.create(model="tiny", messages=USER)
            assert answer.usage.completion_tokens == 7
            assert answer.choices[0].finish_reason == "length"


async def test_what_the_template_refuses_is_the_clients_error(
    make_client: Any, llama: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        tokenizer,
        "chat_template",
        "{% if messages[0].role != 'user' %}{{ raise_exception('the user must begin') }}{% endif %}"
        + TEMPLATE,
    )
    client = make_client({"m": StreamGenerator(llama, tokenizer, format="hermes")})
    messages = [{"role": "assistant", "content": "Hm."}, *USER]
    for path, body in (
        ("/v1/chat/completions", {**CHAT, "messages": messages}),
        ("/v1/messages", {**CHAT, "messages": messages, "stream": True}),
        ("/tokenize", {"model": "m", "messages": messages}),
        ("/v1/count_tokens", {"model": "m", "conversation": messages}),
    ):
        refused = await client.post(path, json=body)
        assert refused.status_code == 400
        assert "the user must begin" in refused.json()["error"]["message"]
