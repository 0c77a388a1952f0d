"""`vllm serve` on a CPU, with the scripted model."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

HERE = Path(__file__).parent
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}
START_SECONDS = 300


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Server:
    """One `vllm serve`; its log is a file beside the model's folder."""

    def __init__(self, model: Path, name: str, *flags: str) -> None:
        self._log = model.with_name(f"{name}.log")
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(model)]
        command += ["--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port)]
        command += [
            "--load-format",
            "dummy",
            "--enforce-eager",
            "--max-model-len",
            "4096",
            "--max-num-seqs",
            "16",
        ]
        path = os.pathsep.join(filter(None, [str(HERE / "vllm_worker"), os.environ.get("PYTHONPATH", "")]))
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, *flags],
                env={**os.environ, **ENVIRONMENT, "PYTHONPATH": path},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # the engine's processes end with it
            )

    def wait(self) -> None:
        """Return once it answers."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/health", timeout=5).status_code == 200:
                    return
            time.sleep(0.5)
        tail = self._log.read_text(encoding="utf-8", errors="replace")[-3000:]
        raise RuntimeError(f"{self._log} does not answer:\n{tail}")

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextlib.contextmanager
def serving(model: Path, tool: str, reasoning: str, *flags: str) -> Iterator[tuple[str, str]]:
    """The addresses of two servers: with our parsers of these names, and with vLLM's own."""
    servers: list[Server] = []
    try:
        for prefix in ("unspool_", ""):
            parsers = ["--tool-call-parser", prefix + tool, "--reasoning-parser", prefix + reasoning]
            name = f"{prefix}{tool}+{prefix}{reasoning}"
            servers.append(Server(model, name, "--enable-auto-tool-choice", *parsers, *flags))
        for server in servers:
            server.wait()
        yield servers[0].url, servers[1].url
    finally:
        for server in servers:
            server.stop()
