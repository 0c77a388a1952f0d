"""Models of a user's own: a `ServedModel`, and an object that only streams, behind the adapter."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from unspool import AnswerRequest, ArgumentError, DeltaStream, ServedModel, StreamGenerator
from unspool.serve.engines import EngineModel
from unspool.serve.models.demo_model import DemoModel, DemoModels
from unspool.serve.models.stream_adapter import StreamAdapter, as_served, models_by_name
from unspool.writing.grammar.response import Response

from .conftest import USER, Script, ScriptedModel

pytestmark = pytest.mark.anyio

CHAT = {"model": "m", "messages": USER}


class Least(ServedModel):
    """Only what a subclass must have."""

    def __init__(self) -> None:
        self.scripted = ScriptedModel(lambda script: script.put("Hi"))
        self.requests: list[AnswerRequest] = []

    def begin(self, request: AnswerRequest) -> DeltaStream:
        self.requests.append(request)
        return self.scripted.stream(request.prompt, tools=request.tools, timeout=request.timeout_s)


async def test_a_subclass_needs_begin_alone(make_client: Any) -> None:
    model = Least()
    client = make_client({"m": model}, stream_timeout_s=7.0, reasoning_field="reasoning")
    answer = await client.post("/v1/chat/completions", json={**CHAT, "max_tokens": 5})
    assert answer.json()["choices"][0]["message"]["content"] == "Hi"
    (request,) = model.requests
    assert (request.prompt, request.sampling.max_tokens, request.timeout_s) == (USER, 5, 7.0)
    assert request.parsing == {"parallel_tool_calls": True, "reasoning_field": "reasoning"}
    assert (await client.get("/readiness")).status_code == 200
    (entry,) = (await client.get("/v1/models")).json()["data"]
    assert entry["max_model_len"] is None
    counted = await client.post("/v1/count_tokens", json={"model": "m", "conversation": "Hi"})
    assert (counted.status_code, counted.json()["error"]["message"]) == (400, "this model cannot tokenize")
    assert model.generate("Hi", max_calls=3).text == "Hi"
    assert model.requests[1].parsing == {"max_calls": 3}
    with pytest.raises(ArgumentError, match="one format"):
        model.with_format("hermes")
    with pytest.raises(TypeError, match="begin"):
        ServedModel()  # type: ignore[abstract]


def test_the_models_of_the_package_need_no_adapter() -> None:
    for kind in (StreamGenerator, EngineModel, DemoModel):
        assert issubclass(kind, ServedModel)
        assert kind.stream is ServedModel.stream


class Streams:
    """Only what the adapter needs."""

    def __init__(self) -> None:
        self.scripted = ScriptedModel(lambda script: script.put("Hi"))

    def stream(self, prompt: Any, *, timeout: Any, tools: Any, **options: Any) -> DeltaStream:
        self.options = options
        return self.scripted.stream(prompt, timeout=timeout, tools=tools)


def test_an_object_that_only_streams() -> None:
    inner = Streams()
    model = as_served(inner)
    assert isinstance(model, StreamAdapter)
    assert as_served(model) is model
    request = AnswerRequest(prompt="Hi", prefill=True, response=Response({"type": "object"}))
    with model.begin(request) as stream:
        assert "".join(stream.text()) == "Hi"
    assert inner.options["prefill"] is True
    assert inner.options["response_format"] == {
        "type": "json_schema",
        "json_schema": {"schema": {"type": "object"}},
    }
    assert inner.options.keys().isdisjoint({"stop_in", "strict_markers", "within_context"})
    assert (model.format_name(), model.context_length, model.is_ready) == ("", None, True)
    assert model.with_metadata({"case": "x"}) is model
    for ability in (model.tokenize, model.count_tokens):
        with pytest.raises(ArgumentError, match="this model cannot"):
            ability("Hi")
    with pytest.raises(ArgumentError, match="one format"):
        model.with_format("hermes")
    with pytest.raises(ArgumentError, match="models in this process"):
        model.begin(AnswerRequest(grammar="start: /a/"))
    with pytest.raises(TypeError, match="of type int"):
        as_served(7)


async def test_the_adapter_uses_what_an_object_has(make_client: Any) -> None:
    events: list[str] = []

    class Full(ScriptedModel):
        context_length = 99
        is_ready = False

        def __init__(self, name: str) -> None:
            super().__init__(lambda script: script.put(name))
            self.served_name = name

        def with_metadata(self, metadata: Any) -> Any:
            return Full(metadata["name"])

        def with_format(self, format: Any, reasoning: Any) -> Any:
            return Full(f"{format} {reasoning}")

        @contextlib.asynccontextmanager
        async def lifespan(self) -> AsyncIterator[None]:
            events.append("begin")
            yield
            events.append("end")

    client = make_client({"m": Full("one")})
    async with client.app.router.lifespan_context(client.app):
        assert events == ["begin"]
        assert (await client.get("/readiness")).status_code == 503
        answer = await client.post("/v1/chat/completions", json={**CHAT, "metadata": {"name": "two"}})
        assert answer.json()["choices"][0]["message"]["content"] == "two"
        assert (await client.get("/v1/models/m")).json()["max_model_len"] == 99
    assert events == ["begin", "end"]
    other = as_served(Full("one")).with_format("qwen3")
    assert (other.served_name, other.format_name()) == ("qwen3 None", "hermes")
    assert as_served(Full("one")).count_tokens("four") == 4


def test_a_mapping_that_makes_its_models_is_asked_at_each_access() -> None:
    models = models_by_name(DemoModels())
    assert len(models) == len(list(models)) > 10
    assert models["hermes"] is not models["hermes"]
    assert models["hermes"].served_name == "hermes"
    body: Any = Script
    assert type(models_by_name({"m": ScriptedModel(body)})) is dict
