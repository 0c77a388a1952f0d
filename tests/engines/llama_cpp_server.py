"""llama.cpp's own server in a process of its own, which can be killed: python -m tests.engines.llama_cpp_server MODEL"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

__all__ = ["LlamaCppServer", "running_llama_cpp"]

_ROOT = Path(__file__).parents[2]


@dataclass
class LlamaCppServer:
    """A server that runs."""

    url: str
    process: subprocess.Popen[str]

    def get(self, path: str) -> Any:
        """The JSON that it answers."""
        with urlopen(f"{self.url}{path}", timeout=60) as response:
            return json.load(response)

    def post(self, path: str, body: Any) -> Any:
        """The JSON that it answers."""
        data = json.dumps(body).encode()
        with urlopen(
            Request(f"{self.url}{path}", data, {"content-type": "application/json"}), timeout=60
        ) as response:
            return json.load(response)

    @property
    def busy_slots(self) -> int:
        """How many answers it writes."""
        return sum(slot["is_processing"] for slot in self.get("/slots"))

    def kill(self) -> None:
        """As a crash does."""
        self.process.kill()
        self.process.wait(20)


@contextlib.contextmanager
def running_llama_cpp(model: Path, slots: int = 4, context: int = 8192) -> Iterator[LlamaCppServer]:
    """Run it until the block ends; `context` is each slot's."""
    command = [sys.executable, "-m", "tests.engines.llama_cpp_server", str(model), str(slots), str(context)]
    process = subprocess.Popen(
        command,
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, f"llama.cpp ends with {process.wait(20)}"
        yield LlamaCppServer(url, process)
    finally:
        process.kill()
        process.wait(20)
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def _main(model: str, slots: str, context: str) -> None:
    """Serve until the standard input ends: a test that dies leaves nothing behind."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_parallel = int(slots)
    params.n_ctx = int(slots) * int(context)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_threads_http = 16
    params.warmup = False
    params.fit_params = False
    params.verbosity = -1
    params.endpoint_metrics = params.endpoint_slots = True
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _main(*sys.argv[1:])
