"""`mlserver start` on the example folder: unary, SSE, gRPC and OpenAI's route; failures and cancels included."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("mlserver", reason="mlserver is not installed; pip install 'unspool[mlserver]'")

import grpc
from mlserver.grpc import dataplane_pb2 as pb
from mlserver.grpc.dataplane_pb2_grpc import GRPCInferenceServiceStub
from unspool.testing.wire import read_chat_completions, read_open_inference

from .mlserver_host import EXAMPLE, RUNTIME, Server, body, environment, frames, free_ports, running, texts

pytestmark = pytest.mark.skipif(not EXAMPLE.is_dir(), reason="runs in a checkout")

MODELS = ["counts", "breaks", "breaks_at_once", "workers", "llama"]
PROMPT = "Name two colours."
USER = [{"role": "user", "content": "Hello"}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The example, with models beside it that fail or never end."""
    folder = tmp_path_factory.mktemp("models") / "mlserver"
    shutil.copytree(EXAMPLE, folder)
    for name in MODELS:
        (folder / name).mkdir()
        parameters = {"version": "v1", "extra": {"factory": f"mlserver_models:{name}"}}
        settings = {"name": name, "implementation": RUNTIME, "parameters": parameters}
        (folder / name / "model-settings.json").write_text(json.dumps(settings))
    with running(folder, tmp_path_factory.mktemp("run")) as started:
        yield started


@pytest.fixture(scope="module")
def stub(server: Server) -> Iterator[Any]:
    with grpc.insecure_channel(f"127.0.0.1:{server.ports['GRPC']}") as channel:
        yield GRPCInferenceServiceStub(channel)


def grpc_request(model: str, prompt: str = PROMPT, **parameters: Any) -> Any:
    kinds = {bool: "bool_param", int: "int64_param", str: "string_param"}
    given = {
        name: pb.InferParameter(**{kinds[type(value)]: value}) for name, value in parameters.items()
    }  # a bool is no int64
    tensor = pb.ModelInferRequest.InferInputTensor(
        name="prompt",
        datatype="BYTES",
        shape=[1],
        contents=pb.InferTensorContents(bytes_contents=[prompt.encode()]),
    )
    return pb.ModelInferRequest(model_name=model, parameters=given, inputs=[tensor])


def grpc_outputs(response: Any) -> dict[str, str]:
    return {output.name: output.contents.bytes_contents[0].decode() for output in response.outputs}


def post(server: Server, path: str, request: Any) -> httpx.Response:
    return httpx.post(f"{server.url}{path}", json=request, timeout=30)


@pytest.mark.parametrize("route", ["infer", "generate"])
@pytest.mark.parametrize("version", ["", "/versions/v1"])
def test_streams_say_what_whole_answers_say(server: Server, route: str, version: str) -> None:
    """With and without a version; a tool call too."""
    for prompt in (PROMPT, "one call", "two calls, text between"):
        path = f"/v2/models/hermes{version}/{route}"
        whole = post(server, path, body(prompt)).json()
        streamed = post(server, f"{path}_stream", body(prompt))
        assert streamed.headers["content-type"].startswith("text/event-stream")
        (answer,) = read_open_inference(streamed.content, include_usage=True)
        message = json.loads(whole["outputs"][1]["data"][0])
        assert answer.content == whole["outputs"][0]["data"][0] == (message["content"] or "")
        called = [
            (call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls", ())
        ]
        assert [(call.name, call.arguments) for call in answer.calls] == called
        told = whole["parameters"]
        assert answer.finish_reason == told["finish_reason"]
        last = frames(streamed.text)[-1]["parameters"]
        for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
            assert told[name] == last[name] > 0
        assert whole["model_version"] == "v1"


def test_a_stream_begins_long_before_it_ends(server: Server) -> None:
    """The demo takes 20 ms a token."""
    arrivals: list[float] = []
    begin_s = time.perf_counter()
    url = f"{server.url}/v2/models/hermes/generate_stream"
    with httpx.stream("POST", url, json=body(PROMPT), timeout=30) as response:
        for line in response.iter_lines():
            if line:
                arrivals.append(time.perf_counter() - begin_s)
    assert len(arrivals) > 5
    assert arrivals[0] < arrivals[-1] / 2


def test_the_id_of_the_request_is_on_every_response(server: Server) -> None:
    streamed = post(server, "/v2/models/hermes/generate_stream", {"id": "mine", **body(PROMPT)})
    assert {response["id"] for response in frames(streamed.text)} == {"mine"}


def test_grpc_says_the_same(server: Server, stub: Any) -> None:
    whole = stub.ModelInfer(grpc_request("hermes"), timeout=30)
    streamed = list(stub.ModelStreamInfer(iter([grpc_request("hermes")]), timeout=30))
    deltas = [json.loads(grpc_outputs(response)["delta"]) for response in streamed[:-1]]
    rest = frames(post(server, "/v2/models/hermes/generate_stream", body(PROMPT)).text)[:-1]
    wanted = [json.loads(response["outputs"][1]["data"][0]) for response in rest]
    assert "".join(delta["content"] for delta in deltas) == "".join(delta["content"] for delta in wanted)
    assert "".join(delta["content"] for delta in deltas) == grpc_outputs(whole)["output"]
    assert streamed[-1].parameters["finish_reason"].string_param == "stop"
    assert float(streamed[-1].parameters["tokens_per_second"].string_param) > 0


def test_two_requests_in_one_grpc_stream(stub: Any) -> None:
    requests = [grpc_request("hermes", max_tokens=4), grpc_request("hermes", "one call", temperature="0.5")]
    responses = list(stub.ModelStreamInfer(iter(requests), timeout=30))
    indices = [response.parameters["index"].int64_param for response in responses]
    assert indices == sorted(indices)
    assert set(indices) == {0, 1}
    finished = [response for response in responses if response.parameters["event"].string_param == "finish"]
    assert [last.parameters["finish_reason"].string_param for last in finished] == ["length", "tool_calls"]


def test_raw_contents_on_grpc(stub: Any) -> None:
    """Lengths before bytes, as Triton's clients send them; the answers come so too."""
    raw = len(PROMPT).to_bytes(4, "little") + PROMPT.encode()
    tensor = pb.ModelInferRequest.InferInputTensor(name="prompt", datatype="BYTES", shape=[1])
    request = pb.ModelInferRequest(model_name="hermes", inputs=[tensor], raw_input_contents=[raw])
    responses = list(stub.ModelStreamInfer(iter([request]), timeout=30))
    text = b"".join(response.raw_output_contents[0][4:] for response in responses[:-1])
    assert text.decode() == grpc_outputs(stub.ModelInfer(grpc_request("hermes"), timeout=30))["output"]


def test_bad_requests(server: Server, stub: Any) -> None:
    """400 and INVALID_ARGUMENT; in band on a stream of HTTP, which has its 200 by then."""
    request = body(PROMPT, max_tokens=0)
    refused = post(server, "/v2/models/hermes/generate", request)
    assert refused.status_code == 400
    assert "max_tokens" in refused.json()["error"]
    (told,) = frames(post(server, "/v2/models/hermes/generate_stream", request).text)
    assert told["parameters"]["event"] == "error"
    bad = grpc_request("hermes", max_tokens=0)
    for call in (
        lambda: stub.ModelInfer(bad, timeout=30),
        lambda: list(stub.ModelStreamInfer(iter([bad]), timeout=30)),
    ):
        with pytest.raises(grpc.RpcError) as raised:
            call()
        assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert "max_tokens" in raised.value.details()


@pytest.mark.parametrize(("model", "before"), [("breaks", "Some text"), ("breaks_at_once", "")])
def test_a_failure_in_band(server: Server, model: str, before: str) -> None:
    """The stream ends well, and what came before the failure is kept."""
    streamed = post(server, f"/v2/models/{model}/generate_stream", body())
    *kept, last = frames(streamed.text)
    assert texts(kept) == before
    assert last["parameters"]["event"] == "error"
    assert "the card has melted" in json.loads(last["outputs"][0]["data"][0])["message"]
    refused = post(server, f"/v2/models/{model}/generate", body())
    assert refused.status_code == 500
    assert "the card has melted" in refused.json()["error"]


def test_a_failure_as_a_status(server: Server, stub: Any) -> None:
    """On gRPC, after what came before; MLServer counts it."""
    name, labels = "model_infer_request_failure_total", {"model": "breaks", "version": ""}
    failures = server.metric(name, **labels)
    got: list[str] = []
    with pytest.raises(grpc.RpcError) as raised:
        for response in stub.ModelStreamInfer(iter([grpc_request("breaks")]), timeout=30):
            got.append(grpc_outputs(response)["output"])
    assert raised.value.code() == grpc.StatusCode.INTERNAL
    assert "the card has melted" in raised.value.details()
    assert "".join(got) == "Some text"
    assert server.metric(name, **labels) == failures + 1


def wait_for_silence(server: Server) -> list[str]:
    """Wait until no model runs any more; return what they have recorded."""
    for _ in range(100):
        if server.other_workers() == 0:
            return server.words()
        time.sleep(0.05)
    raise AssertionError("a model still runs")


@pytest.mark.parametrize("model", ["counts", "llama"])
@pytest.mark.parametrize("transport", ["http", "grpc", "grpc unary", "openai"])
def test_a_client_that_leaves_stops_its_model(server: Server, stub: Any, model: str, transport: str) -> None:
    """No thread is left, the hook has cleaned up; how many steps: test_mlserver.py."""
    parameters = {"max_tokens": 4000} if model == "llama" else {}
    before = server.words().count("cleanup")
    if transport == "http":
        url = f"{server.url}/v2/models/{model}/generate_stream"
        with httpx.stream("POST", url, json=body(**parameters), timeout=30) as response:
            lines = response.iter_lines()
            for _ in range(6):
                next(lines)
    elif transport == "openai":
        request = {"model": model, "messages": USER, "stream": True, **parameters}
        url = f"{server.url}/v1/chat/completions"
        with httpx.stream("POST", url, json=request, timeout=30) as response:
            lines = response.iter_lines()
            for _ in range(6):
                next(lines)
    elif transport == "grpc":
        call = stub.ModelStreamInfer(iter([grpc_request(model, **parameters)]), timeout=30)
        for _ in range(3):
            next(call)
        call.cancel()
    else:
        future = stub.ModelInfer.future(grpc_request(model, **parameters), timeout=30)
        while server.other_workers() == 0:
            time.sleep(0.02)
        future.cancel()
    left = len(server.words())
    told = wait_for_silence(server)
    print(f"{len(told) - left} steps behind the client's end")
    assert len(told) - left < 60  # of thousands: 10 ms each, while the news travels
    if model == "llama":
        assert told.count("cleanup") == before + 1


def test_the_event_loop_is_free(server: Server) -> None:
    """Two streams interleave, and /v2/health/live answers at once beside them."""
    url = f"{server.url}/v2/models/counts/generate_stream"
    came: list[int] = []
    enough = threading.Event()

    def read(reader: int) -> None:
        with httpx.stream("POST", url, json=body(), timeout=30) as response:
            for line in response.iter_lines():
                if line:
                    came.append(reader)
                if enough.is_set():
                    return

    readers = [threading.Thread(target=read, args=[number]) for number in range(2)]
    for reader in readers:
        reader.start()
    while len(set(came)) < 2:
        time.sleep(0.01)
    times_s = []
    with httpx.Client(timeout=30) as client:
        for _ in range(20):
            begin_s = time.perf_counter()
            assert client.get(f"{server.url}/v2/health/live").status_code == 200
            times_s.append(time.perf_counter() - begin_s)
    while len(came) < 60:
        time.sleep(0.01)
    enough.set()
    for reader in readers:
        reader.join()
    print(f"live: median {sorted(times_s)[10] * 1000:.1f} ms, most {max(times_s) * 1000:.1f} ms")
    assert sorted(times_s)[len(times_s) // 2] < 0.5
    changes = sum(one != other for one, other in itertools.pairwise(came))
    assert changes > 10
    wait_for_silence(server)


def test_openais_route(server: Server) -> None:
    """In the same process, for every model that is loaded."""
    request = {"model": "hermes", "messages": USER, "stream": True, "stream_options": {"include_usage": True}}
    streamed = post(server, "/v1/chat/completions", request)
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert streamed.text.endswith("data: [DONE]\n\n")
    (answer,) = read_chat_completions(streamed.content, include_usage=True)
    whole = post(server, "/v1/chat/completions", {"model": "hermes:v1", "messages": USER}).json()
    assert answer.content == whole["choices"][0]["message"]["content"] != ""
    listed = httpx.get(f"{server.url}/v1/models", timeout=30).json()
    assert {"hermes", "hermes:v1", "llama", "counts"} <= {model["id"] for model in listed["data"]}
    refused = post(server, "/v1/chat/completions", {"model": "nobody", "messages": USER})
    assert refused.status_code == 404
    assert refused.json()["error"]["code"] == "model_not_found"
    failed = post(server, "/v1/chat/completions", {"model": "breaks", "messages": USER, "stream": True})
    assert "the card has melted" in failed.text
    assert "[DONE]" not in failed.text
    messages = post(
        server, "/v1/messages", {"model": "hermes", "messages": USER, "max_tokens": 50, "stream": True}
    )
    assert "event: message_stop" in messages.text


def test_the_official_client(server: Server) -> None:
    openai = pytest.importorskip("openai", reason="openai is not installed; pip install openai")
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none") as client:
        chunks = list(client.chat.completions.create(model="hermes", messages=USER, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def test_a_model_is_unloaded_and_loaded_again(server: Server) -> None:
    """Over MLServer's repository API; the module is reloaded with it."""
    load, unload = (f"/v2/repository/models/hermes/{verb}" for verb in ("load", "unload"))
    chat = {"model": "hermes", "messages": USER}
    for _ in range(2):
        assert post(server, load, {}).status_code == 200  # once more, beside the old one
    listed = [m["id"] for m in httpx.get(f"{server.url}/v1/models", timeout=30).json()["data"]]
    assert listed.count("hermes") == 1
    assert post(server, unload, {}).status_code == 200
    assert post(server, "/v2/models/hermes/generate", body(PROMPT)).status_code == 404
    assert post(server, "/v1/chat/completions", chat).status_code == 404
    assert post(server, load, {}).status_code == 200
    assert post(server, "/v2/models/hermes/generate", body(PROMPT)).status_code == 200
    assert post(server, "/v1/chat/completions", chat).status_code == 200


def test_metadata_lists_the_tensors(server: Server) -> None:
    metadata = httpx.get(f"{server.url}/v2/models/hermes", timeout=30).json()
    assert [tensor["name"] for tensor in metadata["inputs"]] == ["prompt", "messages", "input_ids"]
    assert [tensor["name"] for tensor in metadata["outputs"]] == ["output", "delta", "message"]


def test_the_examples_client(server: Server) -> None:
    """examples/mlserver/client.py: all ways to ask."""
    command = [sys.executable, str(EXAMPLE / "client.py"), server.url, f"127.0.0.1:{server.ports['GRPC']}"]
    done = subprocess.run(
        command, env=environment({}), capture_output=True, text=True, timeout=60, check=True
    )
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["unary", "sse", "grpc", "openai"]
    assert len({line.split(":", 1)[1].strip() for line in lines[:3]}) == 1


def test_workers_are_refused_at_load(tmp_path: Path) -> None:
    """`parallel_workers: 1`, MLServer's default: one line says what to set, and the server ends."""
    folder = tmp_path / "models"
    shutil.copytree(EXAMPLE, folder)
    (folder / "settings.json").write_text('{"host": "127.0.0.1"}')
    ports = dict(zip(("HTTP", "GRPC", "METRICS"), free_ports(3), strict=True))
    command = [str(Path(sys.executable).parent / "mlserver"), "start", str(folder)]
    done = subprocess.run(
        command, env=environment(ports), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert "set parallel_workers to 0" in done.stdout + done.stderr
