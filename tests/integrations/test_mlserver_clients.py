"""The clients of MLServer's own streaming example: they decode `outputs[0]` of every response."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("mlserver", reason="mlserver is not installed; pip install 'unspool[mlserver]'")

import grpc
from mlserver.codecs import StringCodec
from mlserver.grpc import converters
from mlserver.grpc.dataplane_pb2_grpc import GRPCInferenceServiceStub
from mlserver.types import InferenceRequest, InferenceResponse

from .mlserver_host import EXAMPLE, Server, running

pytestmark = [
    pytest.mark.skipif(not EXAMPLE.is_dir(), reason="runs in a checkout"),
    pytest.mark.filterwarnings("ignore:The `construct` method:DeprecationWarning"),  # MLServer's converters
]

#: What a request asks for, and which output comes first: the example names `output`.
ASKED = [(["output"], "output"), ([], "output"), (["delta"], "delta"), (["delta", "output"], "output")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(EXAMPLE, tmp_path_factory.mktemp("run")) as started:
        yield started


def request_file(folder: Path, prompt: str, outputs: list[str]) -> Path:
    """A request as a file, in the shape of the example."""
    tensor = {
        "name": "prompt", "shape": [1], "datatype": "BYTES", "data": [prompt], "parameters": {"content_type": "str"},
    }  # fmt: skip
    path = folder / "generate-request.json"
    path.write_text(json.dumps({"inputs": [tensor], "outputs": [{"name": name} for name in outputs]}))
    return path


def rest(server: Server, request: InferenceRequest) -> list[Any]:
    """The example's loop over server-sent events."""
    connect_sse = pytest.importorskip("httpx_sse", reason="httpx-sse is not installed").connect_sse
    decoded = []
    url = f"{server.url}/v2/models/hermes/generate_stream"
    with (
        httpx.Client(timeout=30) as client,
        connect_sse(client, "POST", url, json=request.model_dump()) as source,
    ):
        for event in source.iter_sse():
            response = InferenceResponse.model_validate_json(event.data)
            decoded += StringCodec.decode_output(response.outputs[0])
    return decoded


def over_grpc(server: Server, request: InferenceRequest) -> list[Any]:
    """The example's loop over a gRPC stream."""
    request.inputs[0] = StringCodec.encode_input("prompt", request.inputs[0].data.root)
    message = converters.ModelInferRequestConverter.from_types(
        request, model_name="hermes", model_version=None
    )

    async def sent() -> AsyncIterator[Any]:
        yield message

    async def read() -> list[Any]:
        decoded = []
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.ports['GRPC']}") as channel:
            async for step in GRPCInferenceServiceStub(channel).ModelStreamInfer(sent()):
                response = converters.ModelInferResponseConverter.to_types(step)
                decoded += StringCodec.decode_output(response.outputs[0])
        return decoded

    return asyncio.run(read())


@pytest.mark.parametrize(("outputs", "first"), ASKED)
@pytest.mark.parametrize("client", [rest, over_grpc])
@pytest.mark.parametrize("prompt", ["Name two colours.", "one call"])
def test_every_response_can_be_decoded(
    server: Server, tmp_path: Path, client: Any, prompt: str, outputs: list[str], first: str
) -> None:
    path = request_file(tmp_path, prompt, outputs)
    whole = httpx.post(
        f"{server.url}/v2/models/hermes/generate",
        json={**json.loads(path.read_text()), "outputs": []},
        timeout=30,
    )
    wanted = whole.raise_for_status().json()["outputs"][0]["data"][0]
    decoded = client(server, InferenceRequest.model_validate_json(path.read_bytes()))
    assert len(decoded) > 1
    if first == "delta":
        deltas = [json.loads(text) for text in decoded]
        assert deltas[-1] == {}, "the last response has an answer's end alone"
        assert "".join(delta.get("content", "") for delta in deltas) == wanted
    else:
        assert decoded[-1] == ""
        assert "".join(decoded) == wanted
