"""OpenTelemetry's spans and metrics, of a model in this process, a server, and an engine behind it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

pytest.importorskip("opentelemetry.sdk")

import unspool
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from unspool.generation import telemetry
from unspool.serve.engines import connect
from unspool.serve.models.demo_model import DemoModel

from ..serve.conftest import Script, ScriptedModel, running
from .fake_sglang import FakeSglang, running_sglang
from .scripted import FORMAT, VOCABULARY, Stage
from .suite import SUITE


class Recorded:
    """What a program would export."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self._reader = InMemoryMetricReader()
        self.meters = MeterProvider([self._reader])

    def span(self, name: str) -> Any:
        (found,) = [span for span in self._spans.get_finished_spans() if span.name == name]
        return found

    @property
    def names(self) -> list[str]:
        return sorted(span.name for span in self._spans.get_finished_spans())

    def points(self, name: str) -> list[Any]:
        data = self._reader.get_metrics_data()
        assert data is not None
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
        return [
            point
            for scope in scopes
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    made = Recorded()
    monkeypatch.setattr(trace, "get_tracer", made.tracers.get_tracer)
    monkeypatch.setattr(metrics, "get_meter", made.meters.get_meter)
    telemetry.tracer.cache_clear()
    telemetry.histogram.cache_clear()
    yield made
    telemetry.tracer.cache_clear()
    telemetry.histogram.cache_clear()


MESSAGES = [{"role": "user", "content": "Hi"}]


def test_a_model_in_this_process(recorded: Recorded) -> None:
    pytest.importorskip("torch")
    from ..tiny_models import TEMPLATE, make_byte_tokenizer, make_llama

    tokenizer = make_byte_tokenizer(chat_template=TEMPLATE)
    model = make_llama(tokenizer)
    model.config._name_or_path = "/models/tiny-llama/"
    sampling = unspool.SamplingParams(temperature=0.5, top_k=7, max_tokens=5, n=2, seed=3, stop=("never",))
    with recorded.tracers.get_tracer("program").start_as_current_span("agent") as parent:
        stream = unspool.StreamGenerator(model, tokenizer, format="hermes").stream(
            MESSAGES, sampling=sampling
        )
    list(stream)
    result = stream.result
    span = recorded.span("chat tiny-llama")
    assert span.kind == SpanKind.INTERNAL
    assert span.parent.span_id == parent.get_span_context().span_id
    assert span.status.status_code == StatusCode.UNSET
    found = dict(span.attributes)
    waited_s = found.pop("gen_ai.response.time_to_first_chunk")
    assert 0 < waited_s < 60
    assert found == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "transformers",
        "gen_ai.request.model": "tiny-llama",
        "gen_ai.request.stream": True,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_k": 7,
        "gen_ai.request.max_tokens": 5,
        "gen_ai.request.seed": 3,
        "gen_ai.request.stop_sequences": ("never",),
        "gen_ai.request.choice.count": 2,
        "gen_ai.usage.input_tokens": result.usage.prompt_tokens,
        "gen_ai.usage.output_tokens": result.usage.completion_tokens,
        "gen_ai.usage.reasoning.output_tokens": 0,
        "gen_ai.response.finish_reasons": tuple(choice.finish_reason for choice in result.choices),
    }
    labels = {
        name: found[name]
        for name in ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model")
    }
    (duration,) = recorded.points("gen_ai.client.operation.duration")
    assert duration.attributes == labels
    assert duration.sum >= waited_s
    assert duration.explicit_bounds[0] == 0.01
    (first,) = recorded.points("gen_ai.client.operation.time_to_first_chunk")
    assert first.sum == waited_s
    tokens = {
        point.attributes["gen_ai.token.type"]: point.sum
        for point in recorded.points("gen_ai.client.token.usage")
    }
    assert tokens == {"input": result.usage.prompt_tokens, "output": result.usage.completion_tokens}


def test_an_error_and_a_consumer_that_leaves(recorded: Recorded) -> None:
    pytest.importorskip("torch")
    from ..tiny_models import make_byte_tokenizer, make_llama

    tokenizer = make_byte_tokenizer()
    model = make_llama(tokenizer)
    model.config._name_or_path = ""
    generator = unspool.StreamGenerator(model, tokenizer, format="none")
    with generator.stream("Hi", max_new_tokens=2000) as stream:
        next(stream)
    stream.recorded()  # waits for the end
    span = recorded.span("text_completion")
    assert span.status.status_code == StatusCode.UNSET
    assert span.attributes["gen_ai.response.finish_reasons"] == ("cancelled",)

    def broken(*_: Any, **__: Any) -> Any:
        raise MemoryError("no room")

    model.forward = broken
    with pytest.raises(MemoryError):
        list(generator.stream("Hi", max_new_tokens=5))
    (failed,) = [
        point
        for point in recorded.points("gen_ai.client.operation.duration")
        if "error.type" in point.attributes
    ]
    assert failed.attributes["error.type"] == "MemoryError"


@pytest.fixture
def fake(stage: Stage) -> Iterator[tuple[FakeSglang, Any]]:
    fake = FakeSglang(VOCABULARY.token_bytes, stage.book.following, VOCABULARY.tokens.index(VOCABULARY.end))
    with running_sglang(fake) as url:
        yield fake, connect(url, tokenizer=str(stage.folder), format=FORMAT)


TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


def test_one_trace_from_the_client_through_the_server_to_the_engine(
    recorded: Recorded, fake: tuple[FakeSglang, Any], stage: Stage
) -> None:
    sglang, model = fake
    turn = next(turn for turn in SUITE if turn.wire == "chat")
    body = stage.book.body(turn) | {"model": "m"}
    with running({"m": model}) as server:
        url = f"http://127.0.0.1:{server.port}/v1/chat/completions"
        for stream in (False, True):
            answer = httpx.post(
                url, json={**body, "stream": stream}, headers={"traceparent": PARENT}, timeout=60
            )
            assert answer.status_code == 200
    assert set(recorded.names) == {"POST /v1/chat/completions", "chat scripted"}
    spans = recorded._spans.get_finished_spans()
    served = [span for span in spans if span.kind == SpanKind.SERVER]
    asked = [span for span in spans if span.kind == SpanKind.CLIENT]
    assert len(served) == len(asked) == 2
    assert {f"{span.context.trace_id:032x}" for span in spans} == {TRACE}
    assert {f"{span.parent.span_id:016x}" for span in served} == {"b7ad6b7169203331"}
    assert {span.parent.span_id for span in asked} == {span.context.span_id for span in served}
    assert sglang.headers["traceparent"] == f"00-{TRACE}-{asked[-1].context.span_id:016x}-01"
    assert served[0].attributes["http.response.status_code"] == 200
    assert served[0].attributes["gen_ai.request.model"] == "m"
    assert asked[0].attributes["gen_ai.provider.name"] == "sglang"
    assert asked[0].attributes["server.address"] == "127.0.0.1"
    assert asked[0].attributes["server.port"] > 0
    assert asked[0].attributes["gen_ai.usage.input_tokens"] > 0
    (duration,) = recorded.points("gen_ai.server.request.duration")
    assert duration.count == 2
    assert duration.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "unspool",
        "gen_ai.request.model": "m",
    }
    assert recorded.points("gen_ai.server.time_to_first_token")[0].count == 2
    assert recorded.points("gen_ai.server.time_per_output_token")[0].count == 2


def test_errors_of_the_server(recorded: Recorded) -> None:
    def fails(script: Script) -> None:
        script.put("x")
        raise RuntimeError("no")

    with running({"f": ScriptedModel(fails)}) as server:
        base = f"http://127.0.0.1:{server.port}/v1"
        for stream in (False, True):
            httpx.post(
                f"{base}/chat/completions", json={"model": "f", "messages": MESSAGES, "stream": stream}
            )
        httpx.get(f"{base}/models")
        httpx.get(f"http://127.0.0.1:{server.port}/health")
    assert recorded.names == ["GET /v1/models", "POST /v1/chat/completions", "POST /v1/chat/completions"]
    failed = [span for span in recorded._spans.get_finished_spans() if span.name.startswith("POST")]
    assert [span.status.status_code for span in failed] == [StatusCode.ERROR] * 2
    assert {span.attributes["error.type"] for span in failed} == {"500", "error"}
    (duration,) = recorded.points("gen_ai.server.request.duration")
    assert duration.attributes["error.type"] == "error"
    assert duration.count == 2


def test_the_span_of_another_middleware_stays_the_only_one(recorded: Recorded) -> None:
    import asyncio

    from unspool.serve import create_app

    app = create_app({"demo": DemoModel(unspool.get_format("hermes"))})

    async def main() -> int:
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://s") as client,
        ):
            with recorded.tracers.get_tracer("other").start_as_current_span("theirs"):
                body = {"model": "demo", "messages": MESSAGES}
                return (await client.post("/v1/chat/completions", json=body)).status_code

    assert asyncio.run(main()) == 200
    assert recorded.names == ["chat", "theirs"]
    assert recorded.span("chat").parent.span_id == recorded.span("theirs").context.span_id


def test_a_program_without_opentelemetry_imports_none_of_it() -> None:
    code = textwrap.dedent("""
        import sys
        import unspool
        from unspool.serve.models.demo_model import DemoModel
        assert list(DemoModel(unspool.get_format("hermes")).stream([{"role": "user", "content": "Hi"}], sampling=unspool.SamplingParams()))
        assert not [name for name in sys.modules if name.startswith("opentelemetry")]
    """)
    subprocess.run([sys.executable, "-c", code], check=True)
