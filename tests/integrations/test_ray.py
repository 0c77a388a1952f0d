"""Ray on two nodes of one machine: replicas that stream, a stage that parses."""

# ruff: noqa: ARG001, E402

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import re
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import unspool
from hypothesis import given, settings
from hypothesis import strategies as st
from unspool import ArgumentError, SamplingParams, get_format, parse, parse_batch
from unspool.testing.cases import shipped_cases
from unspool.testing.marker_tokenizer import marker_tokenizer

from ..outputs import TOOLS, outputs

# Ray and what it brings warn of their own affairs.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("ray"), pytest.mark.timeout(300)]

# Ray leaves a folder /tmp/ray, and `ray` alone would find that from a clone in /tmp.
pytest.importorskip("ray.exceptions", reason="Ray is not installed: pip install 'unspool[ray,serve]'")
pytest.importorskip("starlette", reason="starlette is not installed: pip install 'unspool[ray,serve]'")
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import httpx

with warnings.catch_warnings():  # its imports warn of pydantic's changes
    warnings.simplefilter("ignore")
    import pyarrow as pa
    import ray
    from ray import cloudpickle, serve
    from ray.cluster_utils import Cluster
from unspool.errors import EngineError
from unspool.integrations.ray import CompletionParser, parse_completions, serve_app
from unspool.integrations.ray_engine import DeploymentEngine
from unspool.serve import ServeOptions
from unspool.serve.engines import EngineRequest
from unspool.serve.models.demo_model import DemoModels

from . import ray_models

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "ray.md"
CALL = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'

cloudpickle.register_pickle_by_value(ray_models)


# The stage, in this process.


def table_of(completions: list[Any], type: Any = None) -> Any:
    return pa.table({"completion": pa.array(completions, type), "number": range(len(completions))})


@settings(max_examples=20)
@given(data=st.data())
@pytest.mark.parametrize("format", ["hermes", "qwen3_coder", "deepseek_v3", "mistral"])
def test_columns_are_what_parse_gives(format: str, data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.none() | outputs(format), max_size=6))
    table = CompletionParser(format, "completion", tools=TOOLS, id_seed=3)(table_of(texts, pa.string()))
    assert table.column("number").to_pylist() == list(range(len(texts)))
    assert len(table) == len(texts)
    for row, text in zip(table.to_pylist(), texts, strict=True):
        assert row["completion"] == text
        if text is None:
            assert set(row.values()) == {None, row["number"]}
            continue
        message = parse(text, format, TOOLS, id_seed=3)
        assert (row["content"], row["reasoning"]) == (message.content, message.reasoning)
        assert row["finish_reason"] == message.finish_reason
        assert row["tool_calls"] == [
            {"id": call.id, "name": call.name, "arguments": call.arguments, "status": call.status}
            for call in message.tool_calls
        ]
        for name in ("malformed", "dropped"):
            assert row[name] == [
                {"text": item.text, "reason": item.reason, "index": item.index}
                for item in getattr(message, name)
            ]


def test_ids_and_reasons(deepseek: Any) -> None:
    texts = ["Hello", CALL, "größer" + CALL[:30], None]
    ids = [None if text is None else deepseek.encode(text) for text in texts]
    reasons = ["stop", None, "length", "stop"]
    expected = parse_batch(
        texts[:3], "hermes", finish_reason=["stop", "stop", "length"], tokenizer=None, id_seed=3
    )
    for type in (pa.list_(pa.int64()), pa.large_list(pa.int32())):
        table = table_of(ids, type).append_column("reason", pa.array(reasons))
        made = CompletionParser(
            "hermes", "completion", finish_reason_column="reason", tokenizer=deepseek.tokenizer, id_seed=3
        )(table)
        assert made.column("content").to_pylist() == [m.content for m in expected] + [None]
        assert made.column("finish_reason").to_pylist() == ["stop", "tool_calls", "length", None]
        counts = made.column("token_counts").to_pylist()
        assert [c and sum(c.values()) for c in counts] == [row and len(row) for row in ids]


def test_calls_as_json() -> None:
    table = CompletionParser("hermes", "completion", tool_calls="json", prefix="parsed_", id_seed=3)(
        table_of(["Hello", "a" + CALL])
    )
    calls = [json.loads(text) for text in table.column("parsed_tool_calls").to_pylist()]
    assert calls == [[], parse("a" + CALL, "hermes", id_seed=3).to_openai()["tool_calls"]]
    assert table.column_names[2] == "parsed_content"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"format": "nosuch"}, unspool.UnknownFormatError, "nosuch"),
        ({"tool_calls": "dicts"}, ArgumentError, "use 'structs' or 'json'"),
        ({"threads": 0}, ArgumentError, "threads is 0"),
        ({"start_in": "tools"}, ArgumentError, "start_in"),
        ({"tokenizer": 3}, unspool.VocabularyError, "int"),
    ],
)
def test_bad_arguments(options: Any, error: Any, words: str) -> None:
    dataset: Any = None  # is not looked at: the error comes first
    with pytest.raises(error, match=words):
        parse_completions(dataset, **{"format": "hermes", "column": "completion", **options})
    with pytest.raises(ArgumentError, match="models is of type NoneType"):
        serve_app(None)  # type: ignore[arg-type]


def test_columns_that_do_not_fit() -> None:
    table = table_of(["a"])
    with pytest.raises(ArgumentError, match="no column 'text'; this dataset has completion, number"):
        CompletionParser("hermes", "text")(table)
    with pytest.raises(ArgumentError, match="a column 'content' already; pass another prefix"):
        CompletionParser("hermes", "completion")(table.append_column("content", pa.array(["b"])))
    with pytest.raises(TypeError, match=r"outputs\[0\]: it is of type int"):
        CompletionParser("hermes", "number")(table)


# Two nodes.


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two nodes, each with processes of its own, and this process as their driver."""
    node = {"num_cpus": 2, "object_store_memory": 200 * 2**20}
    made = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **node})
    try:
        made.add_node(**node)
        ray.init(address=made.address, log_to_driver=False)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


@pytest.fixture(scope="module")
def url(cluster: Cluster) -> Iterator[str]:
    port = free_port()
    serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": port})
    yield f"http://127.0.0.1:{port}"
    serve.shutdown()


@contextlib.contextmanager
def deployed(models: Any, options: ServeOptions | None = None) -> Iterator[None]:
    """Two replicas, one a node."""
    app = serve_app(
        models, options, num_replicas=2, max_replicas_per_node=1, ray_actor_options={"num_cpus": 0.5}
    )
    serve.run(app, name="test")
    try:
        yield
    finally:
        serve.delete("test")


def events_of(answer: httpx.Response) -> Iterator[Any]:
    for line in answer.iter_lines():
        if line.startswith("data: {"):
            yield json.loads(line.removeprefix("data: "))


def chat(model: str) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "Hi"}], "stream": True}


def test_streams_over_two_replicas(url: str) -> None:
    """What a client assembles is what `parse` gives; both replicas, on two nodes, wrote some of it."""
    cases = [
        case
        for format in ("hermes", "qwen3", "qwen3_coder", "mistral")
        for case in shipped_cases(format)
        if not case.malformed and case.finish_reason == "stop"
    ][:24]

    def ask(case: Any) -> tuple[Any, str, dict[str, Any]]:
        content, reasoning, calls = "", "", []
        body = chat(f"{case.format}:{case.name}")
        with httpx.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=60) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for event in events_of(answer):
                assert "error" not in event, event
                for choice in event["choices"]:
                    content += choice["delta"].get("content") or ""
                    reasoning += choice["delta"].get("reasoning_content") or ""
                    for call in choice["delta"].get("tool_calls", ()):
                        if "id" in call:
                            calls.append([call["function"]["name"], ""])
                        calls[call["index"]][1] += call["function"]["arguments"]
        found = {"content": content, "reasoning": reasoning, "calls": calls}
        return case, answer.headers["x-unspool-replica"], found

    with deployed(functools.partial(DemoModels, 0.01), ServeOptions(max_workers=2)):
        assert httpx.get(f"{url}/readiness").status_code == 200
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask, cases))
        replicas = serve.status().applications["test"].deployments["unspool"].replica_states
    assert replicas == {"RUNNING": 2}
    for case, _, found in answers:
        message = parse(case.input, case.format, case.tools, **case.options)
        assert found == {
            "content": message.content,
            "reasoning": message.reasoning,
            "calls": [[call.name, call.arguments] for call in message.tool_calls],
        }, str(case)
    assert len({replica for _, replica, _ in answers}) == 2


def test_a_dataset_over_two_workers(cluster: Cluster) -> None:
    count = 4000
    completions = ["Hello", "so" + CALL, CALL[:30], "<think>a</think>b"]
    items = [{"number": i, "completion": completions[i % 4]} for i in range(count)]
    dataset = ray.data.from_items(items, override_num_blocks=8)
    parsed = parse_completions(dataset, "qwen3", "completion", workers=2, batch_size=100, id_seed=3)
    rows = sorted(parsed.take_all(), key=lambda row: row["number"])
    assert [row["number"] for row in rows] == list(range(count))
    expected = parse_batch(completions, "qwen3", id_seed=3)
    for row in rows:
        message = expected[row["number"] % 4]
        assert (row["content"], row["reasoning"]) == (message.content, message.reasoning)
        calls = [(call["name"], call["arguments"], call["status"]) for call in row["tool_calls"]]
        assert calls == [(call.name, call.arguments, call.status) for call in message.tool_calls]


def test_a_dataset_of_ids(cluster: Cluster, deepseek: Any) -> None:
    """Lists, and arrays, which Ray holds as tensors; the tokenizer travels to the worker."""
    texts = ["Hello", "so" + CALL]
    ids = [deepseek.encode(text) for text in texts]
    expected = parse_batch(ids, "hermes", tokenizer=deepseek.tokenizer)
    import numpy as np

    for rows in (ids, [np.array(row) for row in ids], [np.array(ids[0])] * 2):
        dataset = ray.data.from_items([{"ids": row} for row in rows], override_num_blocks=1)
        parsed = parse_completions(dataset, "hermes", "ids", tokenizer=deepseek.tokenizer).take_all()
        wanted = [expected[0]] * 2 if len(set(map(len, rows))) == 1 else expected
        assert [row["content"] for row in parsed] == [message.content for message in wanted]
        assert [len(row["tool_calls"]) for row in parsed] == [len(m.tool_calls) for m in wanted]


# A deployment as an engine.


class Handle:
    """A deployment's handle, without Ray: answers with these items."""

    deployment_name = "llm"

    def __init__(self, *items: Any) -> None:
        self._items = items
        self.asked: list[Any] = []
        self.cancel_count = 0

    def options(self, *, stream: bool, method_name: str, session_id: str = "") -> Handle:
        self.asked.append((stream, method_name, session_id))
        return self

    def remote(self, request: Any) -> Handle:
        self.asked.append(request)
        return self

    async def __aiter__(self) -> Any:
        for item in self._items:
            if isinstance(item, Exception):
                raise item
            yield item

    def cancel(self) -> None:
        self.cancel_count += 1


def outputs_of(handle: Any, **options: Any) -> list[Any]:
    async def read() -> list[Any]:
        request = EngineRequest(
            prompt_ids=[1], prompt_text="a", sampling=SamplingParams(max_tokens=4), session="s"
        )
        return [output async for output in DeploymentEngine(handle, "m", **options).generate(request)]

    return asyncio.run(read())


EVENT = '{"choices": [{"token_ids": [7], "text": "b"}]}'


@pytest.mark.parametrize(
    "items",
    [
        [json.loads(EVENT), json.loads(EVENT)],
        [f"data: {EVENT}\n\n", f"data: {EVENT}\n\n".encode(), "data: [DONE]\n\n"],
        [f"data: {EVENT}\n\ndata: {EVENT}\n\n"],
        [[f"data: {EVENT}\n\n", f"data: {EVENT}\n\n"]],
    ],
)
def test_what_a_deployment_yields(items: list[Any]) -> None:
    handle = Handle(*items)
    assert [list(output.token_ids) for output in outputs_of(handle, method="answer")] == [[7], [7]]
    assert handle.asked[0] == (True, "answer", "s")
    assert handle.asked[1]["prompt"] == [1]
    assert handle.cancel_count == 1


@pytest.mark.parametrize(
    ("item", "status", "words"),
    [
        ({"error": {"message": "too long", "code": 400}}, 400, "too long"),
        ([ray_models.ErrorResponse({"message": "broken", "code": 500})], 502, "broken"),
        ({"error": "gone"}, 502, "gone"),
        ("data: no JSON", 502, "what is no event"),
        (ray.exceptions.ActorDiedError(), 503, "deployment llm"),
    ],
)
def test_what_a_deployment_cannot_do(item: Any, status: int, words: str) -> None:
    with pytest.raises(EngineError, match=words) as raised:
        outputs_of(Handle(item))
    assert raised.value.status == status


@pytest.fixture
def llm(cluster: Cluster, url: str, tmp_path: Path) -> Iterator[Path]:
    """The server before a deployment of the shape of `ray.serve.llm`'s; its log."""
    marker_tokenizer(get_format("hermes")).save(str(tmp_path / "tokenizer.json"))
    template = "{% for m in messages %}{{ m.content }}{% endfor %}{{ tools | tojson if tools else '' }}"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    log = tmp_path / "log"
    log.write_bytes(b"")
    deployment = serve.deployment(ray_models.Llm, name="llm", ray_actor_options={"num_cpus": 0.5})
    serve.run(deployment.bind(str(tmp_path), log), name="llm", route_prefix=None)
    serve.run(
        serve_app(ray_models.MakeEngines(str(tmp_path)), ray_actor_options={"num_cpus": 0.5}), name="front"
    )
    yield log
    serve.delete("front")
    serve.delete("llm")


def test_the_server_before_a_deployment(llm: Path, url: str) -> None:
    tool = {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}

    def ask(text: str, **body: Any) -> httpx.Response:
        body = {"model": "m", "messages": [{"role": "user", "content": text}], **body}
        return httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60)

    answer = ask("Hi", tools=[tool]).json()
    assert "choices" in answer, answer
    message = answer["choices"][0]["message"]
    assert (message["content"], message["tool_calls"][0]["function"]["name"]) == ("so", "now")
    assert answer["usage"]["prompt_tokens"] > 2
    refused = ask("refuse")
    assert (refused.status_code, "too long" in refused.text) == (400, True)
    failed = ask("fail")
    assert failed.status_code >= 500
    assert "the card has melted" in failed.text
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "endless"}]}
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=60) as stream:
        lines = stream.iter_lines()
        assert next(lines)
        while len(llm.read_bytes()) < 20:
            time.sleep(0.01)
    time.sleep(1)
    count = len(llm.read_bytes())
    time.sleep(1)
    assert len(llm.read_bytes()) == count, "the client has left"


# The page and the examples.


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
def test_the_pages_blocks_run(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    first, data = blocks[0], next(block for block in blocks if "parse_completions" in block)
    try:
        exec(first.replace("http://127.0.0.1:8000", url), {})
    finally:
        serve.delete("default")
    assert "data: [DONE]" in capsys.readouterr().out
    exec(data, {})
    assert "get_weather" in capsys.readouterr().out


@pytest.mark.skipif(not (ROOT / "examples").is_dir(), reason="runs in a checkout")
@pytest.mark.parametrize("name", ["serve_replicas.py", "parse_dataset.py"])
def test_the_examples_run(cluster: Cluster, url: str, name: str) -> None:
    options = {
        "serve_replicas.py": ["--port", url.rsplit(":", 1)[1]],
        "parse_dataset.py": ["--count", "2000"],
    }
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "ray" / name), *options[name]],
        env={**os.environ, "RAY_ADDRESS": cluster.address},
        check=False, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    wanted = {"serve_replicas.py": "tool_calls", "parse_dataset.py": "2 workers: 2000 completions"}
    assert wanted[name] in done.stdout


# A model that writes on and on; last, since it stays at the route.


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_stops_the_model(endless: Path, url: str, path: str, stream: bool) -> None:
    body = {"model": "endless", "stream": stream, "max_tokens": 12000, "messages": chat("")["messages"]}
    if path == "/v1/responses":
        body = {"model": "endless", "stream": stream, "input": "Hi"}
    endless.write_bytes(b"")
    if stream:
        with httpx.stream("POST", url + path, json=body, timeout=60) as answer:
            lines = answer.iter_lines()  # without a name it would close the connection here
            assert next(lines)
            while len(endless.read_bytes()) < 20:
                time.sleep(0.01)
    else:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(url + path, json=body, timeout=httpx.Timeout(60, read=2.0))
    time.sleep(1.0)
    steps = len(endless.read_bytes())
    assert 20 <= steps < 6000
    time.sleep(1.0)
    assert len(endless.read_bytes()) == steps


def test_a_failure_is_reported_in_the_stream(endless: Path, url: str) -> None:
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=chat("failing"), timeout=60) as answer:
        events = list(events_of(answer))
    assert "the card has melted" in events[-1]["error"]["message"]
    assert len(events) > 5


def test_errors_have_their_status(endless: Path, url: str) -> None:
    assert httpx.post(f"{url}/v1/chat/completions", json=chat("nosuch")).status_code == 404
    assert httpx.post(f"{url}/v1/chat/completions", json={}).status_code == 422


@pytest.fixture(scope="module")
def endless(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    log = tmp_path_factory.mktemp("ray") / "steps"
    with deployed(ray_models.MakeModels(log)):
        yield log
