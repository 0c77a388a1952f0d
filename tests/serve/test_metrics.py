"""What Prometheus reads."""

from __future__ import annotations

import collections
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from unspool.serve.http.histogram import Histogram
from unspool.serve.http.metrics import Metrics

from .conftest import TOOL, USER, Script, ScriptedModel

pytestmark = pytest.mark.anyio

BODY = {"model": "m", "messages": USER}
PATH = "/v1/chat/completions"


def read_metric(metrics: Metrics, name: str, **labels: Any) -> float | None:
    return metrics.registry.get_sample_value(f"unspool_{name}", labels)


async def test_every_request_is_counted_by_its_end(make_client: Any) -> None:
    def fails(script: Script) -> None:
        script.put("x")
        raise RuntimeError("no")

    client = make_client({"m": ScriptedModel(lambda script: script.put("x")), "f": ScriptedModel(fails)})
    metrics = client.app.state.server.metrics
    for body in (BODY, {**BODY, "stream": True}, {**BODY, "temperature": -1}, {**BODY, "model": "f"}):
        await client.post(PATH, json=body)
    await client.post(PATH, json={**BODY, "model": "f", "stream": True})
    await client.get("/v1/models")
    await client.get("/v1/elsewhere")

    def count(model: str, status: str, code: int, endpoint: str = PATH) -> float | None:
        return read_metric(
            metrics, "requests_total", endpoint=endpoint, model=model, status=status, code=str(code)
        )

    assert count("m", "success", 200) == 2
    assert count("", "invalid", 422) == 1
    assert count("f", "error", 500) == 1
    assert count("f", "error", 200) == 1  # after the first byte
    assert count("", "success", 200, "/v1/models") == 1
    assert count("", "invalid", 404, "") == 1
    assert read_metric(metrics, "inference_latency_seconds_count", stage="total") == 7


async def test_tokens_times_and_lengths(make_client: Any) -> None:
    def writes(script: Script) -> None:
        for _ in range(20):
            script.put("x ")

    client = make_client({"m": ScriptedModel(writes)})
    metrics = client.app.state.server.metrics
    for stream in (False, True):
        await client.post(PATH, json={**BODY, "stream": stream})
    assert read_metric(metrics, "token_throughput_total", model="m", operation="completion") == 40
    assert read_metric(metrics, "token_throughput_total", model="m", operation="prompt") == 6
    assert read_metric(metrics, "generation_length_count") == 2
    assert read_metric(metrics, "generation_length_sum") == 40
    assert read_metric(metrics, "time_to_first_token_seconds_count") == 2
    for stage in ("queue", "prefill", "decode"):
        assert read_metric(metrics, "inference_latency_seconds_count", stage=stage) == 2
    assert read_metric(metrics, "requests_in_flight") == 0
    assert read_metric(metrics, "queue_size") == 0


async def test_parser_faults(make_client: Any) -> None:
    def faulty(script: Script) -> None:
        script.put("<tool_call>no call</tool_call>")
        script.put('<tool_call>{"name": "look_up", "arguments": {"word": "a')

    client = make_client({"m": ScriptedModel(faulty)})
    metrics = client.app.state.server.metrics
    assert (await client.post(PATH, json={**BODY, "tools": [TOOL]})).status_code == 200
    assert read_metric(metrics, "parser_faults_total", format="hermes", kind="malformed") == 1
    assert read_metric(metrics, "parser_faults_total", format="hermes", kind="incomplete") == 1


async def test_model_names_are_escaped(make_client: Any) -> None:
    name = 'a "quoted"\\name\nover two lines'
    client = make_client({name: ScriptedModel(lambda script: script.put("x"))})
    assert (await client.post(PATH, json={**BODY, "model": name})).status_code == 200
    text = (await client.get("/metrics")).text
    assert 'model="a \\"quoted\\"\\\\name\\nover two lines"' in text


async def test_two_apps_do_not_share(make_client: Any) -> None:
    first = make_client({"m": ScriptedModel(lambda script: script.put("x"))})
    second = make_client({"m": ScriptedModel(lambda script: script.put("x"))})
    await first.post(PATH, json=BODY)
    assert read_metric(second.app.state.server.metrics, "generation_length_count") == 0


async def test_the_same_metrics_as_json(make_client: Any) -> None:
    client = make_client({"m": ScriptedModel(lambda script: script.put("x"))}, api_keys="k")
    assert (await client.get("/metrics.json")).status_code == 401
    client.headers["x-api-key"] = "k"
    await client.post(PATH, json=BODY)
    found = (await client.get("/metrics.json")).json()
    text = (await client.get("/metrics")).text
    assert set(found) == {
        line.split()[2].removesuffix("_total")
        for line in text.splitlines()
        if line.startswith("# TYPE") and "_created" not in line
    }
    (sample,) = found["unspool_requests"]["samples"]
    labels = {"endpoint": PATH, "model": "m", "status": "success", "code": "200"}
    assert sample == {"name": "unspool_requests_total", "labels": labels, "value": 1}
    assert found["unspool_queue_size"]["type"] == "gauge"
    buckets = found["unspool_time_to_first_token_seconds"]["samples"]
    assert {"name": "unspool_time_to_first_token_seconds_count", "labels": {}, "value": 1} in buckets


def test_many_observations_at_once_are_those_one_by_one() -> None:
    values = [0.0, 0.5, 1.0, 1.0, 1.5, 2.0, 7.0, 1e9]
    registries = [CollectorRegistry(), CollectorRegistry()]
    one, many = (Histogram("h", "h", buckets=(0.5, 1, 2, 5), registry=registry) for registry in registries)
    for value in values:
        one.observe(value)
    many.observe_counts(collections.Counter(values))
    many.observe_counts({})
    shown = [
        [
            (sample.name, sample.labels, sample.value)
            for sample in family.samples
            if "created" not in sample.name
        ]
        for registry in registries
        for family in registry.collect()
    ]
    assert shown[0] == shown[1]
