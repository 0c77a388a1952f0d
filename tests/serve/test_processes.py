"""`unspool serve --workers`: several processes on one socket."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs Linux or macOS")

CHAT = {"model": "hermes", "messages": [{"role": "user", "content": "hi"}]}


def wait_for(condition: Callable[[], Any], limit_s: float = 90) -> Any:
    end_s = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < end_s
        time.sleep(0.05)
    return found


class Server:
    """A running command, its log, and its processes."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process, self._log = process, log
        line = wait_for(self._ready)
        self.url = re.findall(r"ready at (http://\S+):", line)[0]

    def _ready(self) -> str | None:
        assert self.process.poll() is None, self.log
        return next((line for line in self.log.splitlines() if "ready at" in line), None)

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def workers(self) -> set[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return {
            pid for pid in map(int, children) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
        }

    def ask(self, **body: Any) -> httpx.Response:
        return httpx.post(f"{self.url}/v1/chat/completions", json={**CHAT, **body}, timeout=60)

    def stream(self) -> contextlib.AbstractContextManager[httpx.Response]:
        body = {**CHAT, "stream": True}
        return httpx.stream("POST", f"{self.url}/v1/chat/completions", json=body, timeout=60)

    def served(self) -> int:
        text = httpx.get(f"{self.url}/metrics", timeout=60).text
        counts = re.findall(r'^unspool_requests_total\{.*endpoint="/v1/chat.*\} (\S+)$', text, re.MULTILINE)
        return int(sum(map(float, counts)))

    def ask_until_both_answer(self) -> int:
        """Ask at one time, so that no process can answer all; the number of requests."""
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: self.ask(), range(32)))
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.json()["choices"][0]["message"]["content"] for answer in answers}) == 1
        return len(answers)


@contextlib.contextmanager
def running(folder: Path, *options: str) -> Iterator[Server]:
    log = folder / "log"
    command = [sys.executable, "-m", "unspool", "serve", "--demo", "--workers", "2", "--port", "0", *options]
    with log.open("w") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, text=True)
    try:
        yield Server(process, log)
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("processes")
    with running(folder, "--record", str(folder / "records"), "--record-mb", "4") as server:
        yield server


def test_one_line_says_that_all_are_ready(server: Server) -> None:
    assert len(server.workers) == 2
    assert server.log.count("ready at") == 1
    assert "; 2 processes" in server.log


def test_metrics_and_records_are_of_all(server: Server, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = server.served()
    count = server.ask_until_both_answer()
    # Whichever process is asked.
    assert {server.served() - before for _ in range(4)} == {count}
    gauges = httpx.get(f"{server.url}/metrics", timeout=60).text
    assert "unspool_requests_in_flight 0.0" in gauges
    assert "unspool_queue_size 0.0" in gauges
    records = tmp_path_factory.getbasetemp().glob("processes*/records/*.json")
    assert wait_for(lambda: len(list(records)) >= count or None) is True
    for file in tmp_path_factory.getbasetemp().glob("processes*/records/*.json"):
        assert json.loads(file.read_text())["record"] == 1


def test_a_process_that_died_is_started_again(server: Server) -> None:
    old, before = server.workers, server.served()
    os.kill(killed := max(old), signal.SIGKILL)
    new = wait_for(lambda: (found := server.workers) and len(found) == 2 and killed not in found and found)
    assert old - {killed} < new
    assert server.served() == before, "what it counted stays"
    server.ask_until_both_answer()
    assert server.log.count("ready at") == 1


def test_running_answers_end_before_the_processes_do(tmp_path: Path) -> None:
    with running(tmp_path, "--delay", "0.05", "--drain-timeout", "20") as server:
        with server.stream() as answer:
            lines = answer.iter_lines()
            next(lines)
            server.process.terminate()
            assert [line for line in lines if line][-1] == "data: [DONE]"
        assert server.process.wait(60) == 0


def test_answers_that_take_too_long_get_an_error(tmp_path: Path) -> None:
    with running(tmp_path, "--delay", "2", "--drain-timeout", "0.2") as server:
        with server.stream() as answer:
            lines = answer.iter_lines()
            next(lines)
            server.process.terminate()
            assert "error" in "".join(lines)
        assert server.process.wait(60) == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--response-store-mb", "1"], "leave one out"),
        (["--record", "records", "--record-mb", "1.5"], "1 or more for each of 2 workers"),
        (["--ssl-keyfile", "key"], "HTTPS needs both files"),
    ],
)
def test_what_needs_one_process_is_refused(options: list[str], told: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "unspool", "serve", "--demo", "--workers", "2", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr


@pytest.mark.timeout(300)  # each process imports torch
def test_models_that_cannot_be_loaded_end_the_command(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    command = [sys.executable, "-m", "unspool", "serve", str(tmp_path), "--workers", "2", "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 2
    assert "cannot be loaded" in done.stderr
