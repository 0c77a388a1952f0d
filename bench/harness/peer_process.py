"""Controls a peer's process from run.py."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from pathlib import Path
from typing import Any

ANSWER_S = 120.0  # a peer that does not answer for this long is ended


class PeerProcess:
    """Starts worker.py for a peer; `hello` has its name and version, or why it is missing."""

    def __init__(self, name: str, environment: dict[str, str]) -> None:
        self.name = name
        command = [sys.executable, "-m", "harness.worker", name]
        paths = [str(Path(__file__).parents[1]), environment.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )
        self.hello = self._read()

    @property
    def is_there(self) -> bool:
        return self.hello["status"] == "ok"

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        """Send a job and return its answer."""
        if self._process.poll() is not None:
            return {"status": "failed", "why": "its process has ended"}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            is_ready = bool(selector.select(ANSWER_S))
        line = self._process.stdout.readline() if is_ready else ""
        if not line:
            self._process.kill()
            why = "its process ended" if is_ready else f"it took more than {ANSWER_S:.0f} s"
            return {"status": "failed", "why": why}
        return dict(json.loads(line))

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
