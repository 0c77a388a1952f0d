"""What MLServer's tests share: requests, a runtime in this process, a server in one of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("mlserver", reason="mlserver is not installed; pip install 'unspool[mlserver]'")

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "mlserver"
RUNTIME = "unspool.integrations.mlserver.StreamRuntime"


def body(prompt: Any = "Hello", *, name: str = "prompt", **parameters: Any) -> dict[str, Any]:
    """A request's JSON; `prompt` is a text, or the data of a tensor of another name."""
    data = prompt if isinstance(prompt, list) else [prompt]
    datatype = "INT64" if name == "input_ids" else "BYTES"
    tensor = {"name": name, "shape": [len(data)], "datatype": datatype, "data": data}
    return {"inputs": [tensor], "parameters": parameters}


def make_runtime(*, uri: str | None = None, name: str = "m", version: str | None = None, **extra: Any) -> Any:
    """A runtime in this process, not loaded."""
    from mlserver import ModelSettings
    from mlserver.settings import ModelParameters
    from unspool.integrations.mlserver import StreamRuntime

    parameters = ModelParameters(uri=uri, version=version, extra=extra)
    return StreamRuntime(ModelSettings(name=name, implementation=RUNTIME, parameters=parameters))


def make_payload(request: Mapping[str, Any], *, http: bool = True) -> Any:
    """The request as MLServer hands it to a runtime."""
    from mlserver.types import InferenceRequest

    payload = InferenceRequest.model_validate({"id": "r", **request})
    payload.parameters.headers = {"host": "test"} if http else {"user-agent": "grpc-python"}
    return payload


async def collect(runtime: Any, *payloads: Any) -> list[Any]:
    """All responses of a stream of requests."""

    async def sent() -> AsyncIterator[Any]:
        for payload in payloads:
            yield payload

    return [response async for response in runtime.predict_stream(sent())]


def sse(responses: list[Any]) -> bytes:
    """The bytes that MLServer sends for them."""
    from mlserver.rest.responses import ServerSentEvent

    return b"".join(ServerSentEvent(response).encode() for response in responses)


def frames(text: str) -> list[dict[str, Any]]:
    """The responses in a body of server-sent events."""
    return [json.loads(frame.removeprefix("data: ")) for frame in text.split("\n\n") if frame]


def texts(responses: list[dict[str, Any]]) -> str:
    """All of `output`."""
    return "".join(out["data"][0] for r in responses for out in r["outputs"] if out["name"] == "output")


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@dataclass
class Server:
    """A running `mlserver start`."""

    process: subprocess.Popen[bytes]
    ports: dict[str, int]
    status: Path
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports['HTTP']}"

    def words(self) -> list[str]:
        """What the models have recorded (`mlserver_models.tell`)."""
        return self.status.read_text().split() if self.status.exists() else []

    def metric(self, name: str, **labels: str) -> float:
        """A value of MLServer's own metrics."""
        told = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
        page = httpx.get(f"http://127.0.0.1:{self.ports['METRICS']}/metrics", timeout=30).text
        for line in page.split("\n"):
            if line.startswith(f"{name}{{{told}}}"):
                return float(line.rsplit(" ", 1)[1])
        return 0.0

    def other_workers(self) -> int:
        """How many threads generate, as the model `workers` says."""
        answer = httpx.post(f"{self.url}/v2/models/workers/infer", json=body(), timeout=30).json()
        return int(answer["outputs"][0]["data"][0])


def environment(ports: Mapping[str, int], **more: str) -> dict[str, str]:
    """Of a process of MLServer's that finds this checkout, and the tests' models."""
    path = os.pathsep.join([*sys.path, str(HERE)])
    settings = {f"MLSERVER_{name}_PORT": str(port) for name, port in ports.items()}
    return {**os.environ, "PYTHONPATH": path, **settings, **more}


@contextlib.contextmanager
def running(folder: Path, scratch: Path, **more: str) -> Iterator[Server]:
    """`mlserver start folder`, on free ports, until it is ready; it ends with SIGTERM."""
    ports = dict(zip(("HTTP", "GRPC", "METRICS"), free_ports(3), strict=True))
    status, log = scratch / "status", scratch / "log"
    command = [str(Path(sys.executable).parent / "mlserver"), "start", str(folder)]
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            env=environment(ports, UNSPOOL_TEST_STATUS=str(status), **more),
            cwd=scratch,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    server = Server(process, ports, status, log)
    try:
        wait_until_ready(server)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError("MLServer hangs on SIGTERM") from None
    assert code == 0, log.read_text()


def wait_until_ready(server: Server) -> None:
    end_s = time.monotonic() + 60
    while time.monotonic() < end_s:
        assert server.process.poll() is None, server.log.read_text()
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{server.url}/v2/health/ready", timeout=5).status_code == 200:
                return
        time.sleep(0.1)
    raise AssertionError(server.log.read_text())
