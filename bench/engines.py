"""Measures the cost of `unspool serve --engine`: CPU per event, memory per stream, delay of the first token, import.

python bench/engines.py [--kind llamacpp] [--streams 256,1000] [--seconds 10] [--profile FILE]

A mock engine, unspool's server and the clients run in separate processes. The engine's steps are like those of real
engines: one token for each stream, in an event of its own. CPU is that of unspool's server process, read from /proc
between two counts of the engine's events, with all streams open.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from harness.stream_clients import open_all, request

HARNESS = Path(__file__).parent / "harness"
TEXT = "The quick brown fox jumps over the lazy dog, and nobody knows why it did so on a Tuesday. It had been told not to. "
TEMPLATE = (
    "{% if tools %}<tool_call>{{ tools | tojson }}</tool_call>{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MARKERS = ["<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "get_weather", "description": "The weather", "parameters": PARAMETERS},
    }
]
TICKS = os.sysconf("SC_CLK_TCK")
EVENTS_A_SECOND = 3000
FIRSTS = 200


def write_model(folder: Path) -> None:
    """Write a tokenizer whose tokens are words of the text, its chat template, and the ids of the text."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator([TEXT], trainers.BpeTrainer(initial_alphabet=alphabet, show_progress=False))
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in MARKERS])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"eos_token": "<|im_end|>", "chat_template": TEMPLATE})
    )
    ids = tokenizer.encode(TEXT).ids
    (folder / "tokens.json").write_text(json.dumps([[id, tokenizer.decode([id])] for id in ids]))


@contextlib.contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[str]]:
    """Run a Python process that ends with the block."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, *command], text=True, **pipes) as made:
        try:
            yield made
        finally:
            # cProfile writes its file after an interrupt.
            made.send_signal(signal.SIGINT if "cProfile" in command else signal.SIGTERM)


@contextlib.contextmanager
def engine(kind: str, folder: Path, rate: float) -> Iterator[int]:
    """Run the mock engine; yields its port."""
    command = [str(HARNESS / "mock_engine.py"), kind, str(folder), "--rate", str(rate)]
    with process(*command) as running:
        assert running.stdout
        yield int(running.stdout.readline())


@contextlib.contextmanager
def server(
    kind: str, folder: Path, engine_port: int, streams: int, profile: str | None = None
) -> Iterator[tuple[int, int]]:
    """Run unspool's server; yields its port and process id."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    before = ["-m", "cProfile", "-o", profile] if profile else []
    command = [
        *before, "-m", "unspool", "serve", "--engine", f"http://127.0.0.1:{engine_port}", "--kind", kind, "--tokenizer", str(folder),
        "--name", "m", "--port", str(port), "--metrics-port", "-1", "--max-workers", str(streams + 8), "--max-queue", str(streams), "--log-level", "error",
    ]  # fmt: skip
    with process(*command) as running:
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readiness", timeout=5).close()
                break
            time.sleep(0.1)
        else:
            raise SystemExit("the server did not start")
        yield port, running.pid


@contextlib.contextmanager
def clients(port: int, count: int, waits: bool) -> Iterator[None]:
    """Hold `count` streams open; if `waits`, the block begins after the first token of each."""
    path, body = chat(1_000_000)
    given = {"port": port, "path": path, "body": body, "mark": "data: ", "count": count, "waits": waits}
    with process(str(HARNESS / "stream_clients.py"), json.dumps(given)) as running:
        assert running.stdout
        if running.stdout.readline() != "open\n":
            raise SystemExit("the clients' streams did not open")
        yield


def chat(max_tokens: int) -> tuple[str, Any]:
    """Return the path and the body of a request to unspool's server."""
    messages = [{"role": "user", "content": "What is the weather?"}]
    return "/v1/chat/completions", {
        "model": "m",
        "messages": messages,
        "tools": TOOLS,
        "stream": True,
        "max_tokens": max_tokens,
    }


def ask(port: int, path: str, body: bytes | None = None) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", body, timeout=30) as answer:
        return json.load(answer)


def cpu_s(pid: int) -> tuple[float, float]:
    """Return the seconds in the program and in the system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) / TICKS, int(fields[12]) / TICKS


def resident_kib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 1024


def measure_cpu(kind: str, folder: Path, streams: int, seconds: float, profile: str | None) -> None:
    """Print the CPU time per event with `streams` streams: the minimum of five parts of the time."""
    with (
        engine(kind, folder, EVENTS_A_SECOND / streams) as engine_port,
        server(kind, folder, engine_port, streams, profile) as (port, pid),
        clients(port, streams, waits=True),
    ):
        found = []
        for _ in range(5):
            before, sent = cpu_s(pid), ask(engine_port, "/sent")
            time.sleep(seconds / 5)
            after, events = cpu_s(pid), ask(engine_port, "/sent") - sent
            used = [1e6 * (end - begin) / events for begin, end in zip(before, after, strict=True)]
            found.append((sum(used), used[1], 5 * events / seconds))
    cost, system, rate = min(found)
    listed = ", ".join(f"{one:.0f}" for one, *_ in found)
    print(
        f"| CPU an event, {streams} streams, {kind} | {cost:.1f} µs, {system:.1f} of them the system's "
        f"({rate:.0f} events a second; all parts {listed}) |",
        flush=True,
    )


def measure_memory(kind: str, folder: Path, streams: int) -> None:
    """Print the memory of a stream that waits for its first token; the process has served eight streams before."""
    with engine(kind, folder, 10) as engine_port, server(kind, folder, engine_port, streams) as (port, pid):
        with clients(port, 8, waits=True):
            pass
        ask(engine_port, "/hold", b"")
        before = resident_kib(pid)
        with clients(port, streams, waits=False):
            while count_running(port) < streams:
                time.sleep(0.2)
            time.sleep(2)
            held = (resident_kib(pid) - before) / streams
    print(f"| memory a waiting stream, of {streams}, {kind} | {held:.1f} KiB |", flush=True)


def count_running(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return next(
        (
            int(float(line.split()[1]))
            for line in text.splitlines()
            if line.startswith("unspool_requests_in_flight")
        ),
        0,
    )


def measure_first(kind: str, folder: Path) -> None:
    """Print the time from the request to the first token, for unspool's server and for the engine itself, in turns."""
    own = {"llamacpp": ("/completion", {"prompt": [1] * 60, "n_predict": 1, "stream": True}),
           "vllm": ("/v1/completions", {"prompt": [1] * 60, "max_tokens": 1, "stream": True})}[kind]  # fmt: skip

    async def first(port: int, path: str, body: Any, mark: bytes) -> float:
        begin = time.perf_counter()
        (client,) = await open_all(port, request(path, body), mark, 1)
        took = await client.first - begin
        client.transport.close()
        return took

    async def run(engine_port: int, port: int) -> list[tuple[float, float]]:
        for _ in range(20):
            await first(port, *chat(1), b'"content":"')
        return [
            (await first(engine_port, *own, b"data: "), await first(port, *chat(1), b'"content":"T'))
            for _ in range(FIRSTS)
        ]

    with engine(kind, folder, 0) as engine_port, server(kind, folder, engine_port, 8) as (port, _):
        times = asyncio.run(run(engine_port, port))
    theirs, ours = ([1000 * value for value in column] for column in zip(*times, strict=True))
    added = statistics.median(ours) - statistics.median(theirs)
    print(
        f"| added to the first token, idle, {kind} | {added:.2f} ms (medians {statistics.median(ours):.2f} and "
        f"{statistics.median(theirs):.2f}; least {min(ours):.2f} and {min(theirs):.2f}) |"
    )


def measure_import() -> None:
    """Print the CPU time of the server's imports, with compiled modules: the minimum of seven runs."""
    code = "import unspool.__main__, unspool.serve, unspool.serve.engines.connect, unspool.generation.prompts.chat_tokenizer, tokenizers, jinja2"
    check = f"{code}, sys; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    found = []
    for _ in range(8):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", check], check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    print(f"| CPU of the imports, without torch and transformers | {min(found[1:]):.2f} s |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=("llamacpp", "vllm"), default="llamacpp")
    parser.add_argument("--streams", default="256,1000")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--sections", default="cpu,memory,first,import")
    parser.add_argument("--profile", help="profile the server of the first number of streams into this file")
    options = parser.parse_args()
    sections, streams = options.sections.split(","), [int(count) for count in options.streams.split(",")]
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))  # two sockets per stream
    print("| what | measured |\n|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(folder)
        if "cpu" in sections:
            for place, count in enumerate(streams):
                measure_cpu(
                    options.kind, folder, count, options.seconds, options.profile if place == 0 else None
                )
        if "memory" in sections:
            measure_memory(options.kind, folder, max(streams))
        if "first" in sections:
            measure_first(options.kind, folder)
    if "import" in sections:
        measure_import()


if __name__ == "__main__":
    main()
