"""google-genai against the server: what it assembles, its own loop of functions, its history, its errors."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from unspool.serve import ServeOptions

from .conftest import Script, ScriptedModel, ask_the_weather, running
from .test_clients import CASES, FORMATS, one_shot

genai = pytest.importorskip("google.genai")
pytestmark = pytest.mark.timeout(120)


def client_at(url: str, version: str | None = None) -> Any:
    return genai.Client(api_key="none", http_options={"base_url": url, "api_version": version})


@pytest.fixture(scope="module")
def client(demo_url: str) -> Any:
    return client_at(demo_url)


def read(responses: list[Any]) -> tuple[str, str, list[Any], str]:
    parts = [part for response in responses for part in response.candidates[0].content.parts]
    calls = [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
    content = "".join(part.text or "" for part in parts if not part.thought)
    reasoning = "".join(part.text or "" for part in parts if part.thought)
    return content, reasoning, calls, responses[-1].candidates[0].finish_reason.value


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("streamed", [True, False])
def test_every_case(client: Any, format: str, streamed: bool) -> None:
    for case in (case for case in CASES if case.format == format):
        ask = {"model": format, "contents": case.name}
        models = client.models
        found = [*models.generate_content_stream(**ask)] if streamed else [models.generate_content(**ask)]
        message = one_shot(case)
        calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls if call.is_complete]
        reason = "STOP" if message.finish_reason in ("stop", "tool_calls") else "MAX_TOKENS"
        if message.finish_reason == "stop" and message.tool_calls:
            reason = "MALFORMED_FUNCTION_CALL"
        assert read(found) == (message.content, message.reasoning, calls, reason), case
        assert found[-1].usage_metadata.total_token_count > 0


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(ask_the_weather, "qwen3")


@pytest.fixture
def url(model: ScriptedModel) -> Iterator[str]:
    with running({"m": model}) as server:
        yield f"http://127.0.0.1:{server.port}"


@pytest.mark.parametrize("way", ["whole", "streamed", "chat", "chat streamed"])
@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_its_own_loop_of_functions(model: ScriptedModel, url: str, way: str, version: str) -> None:
    """Each function runs once, its result comes to its call, and so does the thought."""
    logging.getLogger("google_genai").setLevel(logging.ERROR)
    ran = []

    def get_weather(city: str) -> dict[str, Any]:
        """The weather of a city."""
        ran.append(city)
        return {"city": city, "t": 21}

    config = {"tools": [get_weather], "system_instruction": "Be brief."}
    client = client_at(url, version)
    if way == "whole":
        text = client.models.generate_content(model="m", contents="Hi", config=config).text
    elif way == "streamed":
        chunks = client.models.generate_content_stream(model="m", contents="Hi", config=config)
        text = [chunk.text for chunk in chunks if chunk.text][-1]
    else:
        chat = client.chats.create(model="m", config=config)
        if way == "chat":
            text = chat.send_message("Hi").text
        else:
            text = [chunk.text for chunk in chat.send_message_stream("Hi") if chunk.text][-1]
        # All of it is in the history that counts.
        assert chat.get_history(curated=True) == chat.get_history()
        assert "Warm." in "".join(
            part.text or "" for part in chat.get_history()[-2].parts + chat.get_history()[-1].parts
        )
    assert text == "Warm."
    assert ran == ["Paris", "Oslo"]
    assert len(model.asked) == 2
    _, _, assistant, first, second = model.asked[1]["prompt"]
    assert assistant["reasoning_content"] == "Two cities."
    assert [json.loads(one["content"])["city"] for one in (first, second)] == ran
    assert [one["tool_call_id"] for one in (first, second)] == [
        call["id"] for call in assistant["tool_calls"]
    ]


def test_forced_calls(client: Any) -> None:
    config = {
        "tools": [{"function_declarations": [{"name": "look_up", "parameters": {"type": "OBJECT"}}]}],
        "tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["look_up"]}},
    }
    answer = client.models.generate_content(model="hermes", contents="Hi", config=config)
    assert [call.name for call in answer.function_calls] == ["look_up"]


def test_an_object_of_a_schema(client: Any) -> None:
    from pydantic import BaseModel

    class Recipe(BaseModel):
        name: str
        minutes: int
        tags: list[str] | None = None

    for field in ({"response_schema": Recipe}, {"response_json_schema": Recipe.model_json_schema()}):
        config = {"response_mime_type": "application/json", **field}
        answer = client.models.generate_content(model="qwen3", contents="Hi", config=config)
        assert Recipe.model_validate_json(answer.text)


def test_two_answers(client: Any) -> None:
    config = {"candidate_count": 2, "temperature": 1, "seed": 1}
    answer = client.models.generate_content(model="hermes", contents="Hi", config=config)
    assert [candidate.index for candidate in answer.candidates] == [0, 1]


def test_counts_and_models(client: Any) -> None:
    count = client.models.count_tokens(model="hermes", contents="Hi").total_tokens
    answer = client.models.generate_content(model="hermes", contents="Hi")
    assert answer.usage_metadata.prompt_token_count == count
    assert "models/hermes" in [model.name for model in client.models.list()]
    assert "generateContent" in client.models.get(model="hermes").supported_actions


def fail(script: Script) -> None:
    script.put("Half")
    raise RuntimeError("no weights")


@pytest.mark.parametrize("streamed", [True, False])
def test_errors_are_its_own(url: str, streamed: bool) -> None:
    def ask(client: Any, **change: Any) -> None:
        body = {"model": "m", "contents": "Hi", **change}
        list(client.models.generate_content_stream(**body)) if streamed else client.models.generate_content(
            **body
        )

    client = client_at(url)
    with pytest.raises(genai.errors.ClientError, match="no model 'none'") as raised:
        ask(client, model="none")
    assert (raised.value.code, raised.value.status) == (404, "NOT_FOUND")
    with pytest.raises(genai.errors.ClientError, match="top_p"):
        ask(client, config={"top_p": 5})
    with running({"m": ScriptedModel(fail)}, ServeOptions(flush_ms=0)) as server:
        broken = client_at(f"http://127.0.0.1:{server.port}")
        with pytest.raises(genai.errors.ServerError, match="no weights") as raised:
            ask(broken)
        assert raised.value.status == "INTERNAL"


def wait(script: Script) -> None:
    import time

    script.put("Slow ")
    time.sleep(0.4)
    script.put("answer")


def test_silence_is_no_response() -> None:
    """google-genai takes a comment for one; the queue and the model are slow here."""
    options = ServeOptions(keep_alive_s=0.1, max_workers=1)
    with running({"m": ScriptedModel(wait)}, options) as server:
        client = client_at(f"http://127.0.0.1:{server.port}")
        streams = [client.models.generate_content_stream(model="m", contents="Hi") for _ in range(2)]
        firsts = [next(stream) for stream in streams]
        for first, stream in zip(firsts, streams, strict=True):
            assert "".join(chunk.text or "" for chunk in [first, *stream]) == "Slow answer"
