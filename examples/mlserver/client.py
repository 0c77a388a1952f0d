"""Queries the demo in this folder through every interface of MLServer.

Run: mlserver start examples/mlserver
     python examples/mlserver/client.py [http://127.0.0.1:8080] [127.0.0.1:8081]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import grpc
import httpx
from mlserver.grpc import dataplane_pb2 as pb
from mlserver.grpc.dataplane_pb2_grpc import GRPCInferenceServiceStub

PROMPT = "Name two colours."
REQUEST = {
    "inputs": [{"name": "prompt", "shape": [1], "datatype": "BYTES", "data": [PROMPT]}],
    "parameters": {"max_tokens": 100},
}


def ask(url: str) -> str:
    """The whole answer."""
    answer = httpx.post(f"{url}/v2/models/hermes/generate", json=REQUEST).raise_for_status()
    return answer.json()["outputs"][0]["data"][0]


def stream(url: str) -> Iterator[str]:
    """Its text as it arrives, over server-sent events."""
    with httpx.stream("POST", f"{url}/v2/models/hermes/generate_stream", json=REQUEST) as response:
        for line in response.iter_lines():
            if line:
                step = json.loads(line.removeprefix("data: "))
                if step["parameters"]["event"] == "error":
                    raise RuntimeError(step["outputs"][0]["data"][0])
                if step["parameters"]["event"] == "content":
                    yield step["outputs"][0]["data"][0]


def stream_grpc(address: str) -> Iterator[str]:
    """The same over gRPC, which reports an error as a status."""
    prompt = pb.ModelInferRequest.InferInputTensor(
        name="prompt",
        datatype="BYTES",
        shape=[1],
        contents=pb.InferTensorContents(bytes_contents=[PROMPT.encode()]),
    )
    limit = {"max_tokens": pb.InferParameter(int64_param=100)}
    request = pb.ModelInferRequest(model_name="hermes", inputs=[prompt], parameters=limit)
    with grpc.insecure_channel(address) as channel:
        for step in GRPCInferenceServiceStub(channel).ModelStreamInfer(iter([request])):
            if step.parameters["event"].string_param == "content":
                yield step.outputs[0].contents.bytes_contents[0].decode()


def chat(url: str) -> str:
    """A chat answer in the form of OpenAI's API."""
    body = {"model": "hermes", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 100}
    answer = httpx.post(f"{url}/v1/chat/completions", json=body).raise_for_status()
    return answer.json()["choices"][0]["message"]["content"]


if __name__ == "__main__":
    url, address = (*sys.argv[1:], *("http://127.0.0.1:8080", "127.0.0.1:8081")[len(sys.argv) - 1 :])
    print("unary:", json.dumps(ask(url)))
    print("sse:", json.dumps("".join(stream(url))))
    print("grpc:", json.dumps("".join(stream_grpc(address))))
    print("openai:", json.dumps(chat(url)))
