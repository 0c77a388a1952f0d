"""A server with a model for a long time: `python tests/soak/server.py`, with `--seconds` of the server's CPU time.

Clients ask as agents do, ask badly, leave, die and read slowly, beside one another. Now and then all pause: when
nothing runs or waits any more, the memory, the threads, the open files and the child processes are measured. The server
is stopped amid requests and started again, several times. What has grown, a status that no client may get, an answer
that does not fit its schema, or a server that does not stop in its time is a failure. `--page FILE` writes what came of it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tiny_models import make_byte_tokenizer, make_llama

from soak.agents import ACTIONS, Client, Wrong

__all__ = ["ACTIONS", "Measure", "Server", "faults_of", "save_checkpoint", "soak"]

TEMPLATE = (
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for call in m.tool_calls or [] %}{{ call.function | tojson }}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
#: What two measures may differ by, each with nothing to do: the allocator's and torch's own.
SLACK = {"rss_mib": 48, "threads": 2, "files": 2, "children": 1}
DRAIN_S = 3.0
# The server ends its answers in DRAIN_S; a busy machine takes more.
STOP_S = DRAIN_S + 30
QUIET_S = 90.0
IDLE_S = 11.0  # the threads of anyio's pool may be idle for ten seconds


@dataclass(frozen=True)
class Measure:
    """A server's share of the machine, with nothing to do.

    Attributes:
        cpu_s: Seconds of CPU time since its start.
        rss_mib: Resident memory, without that of the child processes.
        children: Processes that render the chat template.
        lost: Threads that were given up and go on.
    """

    cpu_s: float
    rss_mib: int
    threads: int
    files: int
    children: int
    lost: int


def save_checkpoint(folder: Path) -> None:
    """A tiny random Llama, and a tokenizer of bytes with a chat template that knows tools."""
    tokenizer = make_byte_tokenizer(chat_template=TEMPLATE)
    tokenizer.save_pretrained(folder)
    make_llama(tokenizer, max_position_embeddings=4096).save_pretrained(folder)


class Server:
    """`unspool serve` in a process of its own; a context that ends it."""

    def __init__(self, folder: Path, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [
            sys.executable, "-m", "unspool", "serve", str(folder), "--name", "m", "--format", "hermes",
            "--port", str(self.port), "--max-workers", "4", "--max-queue", "16", "--max-new-tokens", "64",
            "--read-timeout", "2", "--prepare-timeout", "20", "--drain-timeout", str(DRAIN_S),
        ]  # fmt: skip
        with log.open("ab") as output:
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
            self._process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)

    def __enter__(self) -> Server:
        end = time.monotonic() + 180
        while not self._is_ready():
            assert self._process.poll() is None, "the server ended before it was ready"
            assert time.monotonic() < end, "the server is not ready"
            time.sleep(0.2)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readiness", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _gauges(self) -> dict[str, float]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics.json", timeout=60) as answer:
            found = json.load(answer)
        return {
            name: found[f"unspool_{name}"]["samples"][0]["value"]
            for name in ("requests_in_flight", "queue_size", "lost_threads")
        }

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU time, without those of child processes."""
        text = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(text[11]) + int(text[12])) / os.sysconf("SC_CLK_TCK")

    def measure(self) -> Measure:
        """Once nothing runs or waits.

        Raises:
            Wrong: Something still does after a while.
        """
        end = time.monotonic() + QUIET_S
        while any((gauges := self._gauges()).values()):
            if time.monotonic() > end:
                raise Wrong(f"nobody asks any more, and {gauges}")
            time.sleep(0.2)
        time.sleep(IDLE_S)
        self._gauges()  # the pool lets idle threads go at its next use
        folder = Path(f"/proc/{self._process.pid}")
        pages = int((folder / "statm").read_text(encoding="utf-8").split()[1])
        return Measure(
            cpu_s=self.cpu_s,
            rss_mib=pages * os.sysconf("SC_PAGE_SIZE") // 2**20,
            threads=len(list((folder / "task").iterdir())),
            files=len(list((folder / "fd").iterdir())),
            children=len(children_of(self._process.pid)),
            lost=int(self._gauges()["lost_threads"]),
        )

    def stop(self) -> float:
        """Ask it to stop, and return the seconds that it took.

        Raises:
            Wrong: It does not stop in its time, ends badly or leaves a process.
        """
        children = children_of(self._process.pid)
        begin = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            raise Wrong(f"the server has not stopped after {STOP_S:.0f} s") from None
        took = time.monotonic() - begin
        if code not in (0, -signal.SIGTERM, 128 + signal.SIGTERM):
            raise Wrong(f"the server ended with {code}")
        end = time.monotonic() + 20
        while left := [child for child in children if is_running(child)]:
            if time.monotonic() > end:
                raise Wrong(f"the server left the processes {left}")
            time.sleep(0.1)
        return took


def children_of(process: int) -> list[int]:
    """The ids of all processes that this one has started."""
    found = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            found += [int(word) for word in path.read_text(encoding="utf-8").split()]
        except OSError:  # the thread has ended
            continue
    return found


def is_running(process: int) -> bool:
    """Whether a process is there, and not only its status."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


class Traffic:
    """Clients beside one another, which can pause."""

    def __init__(self, seed: str, clients: int, counts: Counter[str]) -> None:
        self.errors: list[str] = []
        self._seed, self._size, self._counts = seed, clients, counts
        self._is_over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._is_stopping = False

    def start(self, port: int, number: int) -> None:
        """Let the clients act."""
        self._is_over.clear()
        self._is_stopping = False
        self._threads = [
            threading.Thread(target=self._act, args=(port, random.Random(f"{self._seed} {number} {client}")))
            for client in range(self._size)
        ]
        for thread in self._threads:
            thread.start()

    def note_stopping(self) -> None:
        """From now on the server may refuse, and go away."""
        self._is_stopping = True

    def pause(self) -> None:
        """Wait until each client has done its thing."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _act(self, port: int, rng: random.Random) -> None:
        counts = Counter[str]()
        client = Client(port, rng, counts)
        while not self._is_over.is_set() and not self.errors:
            try:
                client.act()
            except Exception as error:
                if self._is_stopping:
                    break
                # A server may refuse a request, and close, before all of it was sent.
                if not isinstance(error, ConnectionError):
                    self.errors.append(f"{type(error).__name__}: {error}")
                counts[type(error).__name__] += 1
        self._counts += counts


def faults_of(measures: list[Measure]) -> list[str]:
    """What has grown from the first measure to the last one, and from each to the next."""
    first, last = measures[0], measures[-1]
    faults = [
        f"{name} has grown from {getattr(first, name)} to {getattr(last, name)}"
        for name, slack in SLACK.items()
        if getattr(last, name) > getattr(first, name) + slack
    ]
    return faults + [f"{one.lost} threads are lost" for one in measures if one.lost]


@dataclass(frozen=True)
class Run:
    """One server's life: its measures, and the seconds that it took to stop."""

    measures: list[Measure]
    stop_s: float


def soak(
    folder: Path, seed: int, seconds: float, servers: int = 4, pauses: int = 6, clients: int = 8
) -> tuple[list[Run], Counter[str]]:
    """Soak servers for so many seconds of their CPU time together.

    Raises:
        Wrong: An answer was wrong, something has grown, or a server did not stop as it must.
    """
    counts, runs, log = Counter[str](), [], folder / "log"
    for number in range(servers):
        with Server(folder, log) as server:
            traffic, measures = Traffic(f"{seed} {number}", clients, counts), []
            begin = server.cpu_s
            for pause in range(pauses):
                traffic.start(server.port, pause)
                while server.cpu_s - begin < seconds / servers * (pause + 1) / pauses and not traffic.errors:
                    time.sleep(0.2)
                traffic.pause()
                if traffic.errors:
                    raise Wrong(traffic.errors[0])
                measures.append(server.measure())
                print(number, measures[-1], flush=True)
            traffic.start(server.port, pauses)
            time.sleep(2)
            traffic.note_stopping()
            runs.append(Run(measures, server.stop()))
            traffic.pause()
        if faults := faults_of(measures):
            raise Wrong("; ".join(faults))
    return runs, counts


def page(runs: list[Run], counts: Counter[str], command: str) -> str:
    """The run as Markdown."""
    names = [field.name for field in fields(Measure)]
    head = ["server", *(name.replace("_s", " s").replace("_mib", " MiB") for name in names)]
    rows = [
        [str(number), *(f"{value:,.0f}" for value in (getattr(measure, name) for name in names))]
        for number, one in enumerate(runs, 1)
        for measure in one.measures
    ]
    spent = sum(one.measures[-1].cpu_s for one in runs)
    table = ["| " + " | ".join(cells) + " |" for cells in [head, ["--:"] * len(head), *rows]]
    done = [
        "| action of a client, or status | count |",
        "|---|--:|",
        *(f"| {name} | {count:,} |" for name, count in sorted(counts.items())),
    ]
    return "\n".join([
        f"`{command}`: {spent:,.0f} seconds of CPU time of {len(runs)} servers, one after another, on "
        f"{platform.system()} {platform.machine()} with {os.cpu_count()} processors and Python {platform.python_version()}.",
        "", *table, "",
        "Each server was stopped while requests were running, and ended after "
        + ", ".join(f"{one.stop_s:.1f}" for one in runs) + " s.",
        "", *done, "",
    ])  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--seconds", type=float, default=3600, help="of the servers' CPU time (default: an hour)"
    )
    parser.add_argument("--seed", type=int, help="a run's own; default: a new one, which is printed")
    parser.add_argument("--servers", type=int, default=4, help="one after another")
    parser.add_argument("--clients", type=int, default=8, help="beside one another")
    parser.add_argument("--page", type=Path, help="a file for the report in Markdown")
    given: Any = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    command = f"python tests/soak/server.py --seed {seed} --seconds {given.seconds:g}"
    print(command, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        save_checkpoint(Path(folder))
        try:
            runs, counts = soak(Path(folder), seed, given.seconds, given.servers, clients=given.clients)
        except (Wrong, OSError) as error:
            log = (Path(folder) / "log").read_text(encoding="utf-8", errors="replace")
            print(f"{log[-5000:]}\n{type(error).__name__}: {error}", file=sys.stderr)
            return 1
    text = page(runs, counts, command)
    print(text)
    if given.page is not None:
        given.page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
