"""Runs many clients against one `unspool serve --demo`, and checks every stream, the memory, and liveness.

python bench/server.py [--clients 64] [--seconds 120] [--delay 0.02]

The server, and the client that requests /liveness ten times a second, run in separate processes; the other clients
share this one. Each stream replays a case of some format; it is assembled and compared with the parser's result for
the whole text.

Memory is measured after the clients have requested every case, so that all formats are compiled. Growth after that is
memory that glibc keeps for each thread, free or in its cache. To run the server without it:

MALLOC_ARENA_MAX=1 GLIBC_TUNABLES=glibc.malloc.tcache_count=0 python bench/server.py
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import unspool
from unspool.testing.cases import Case, shipped_cases

PING_EVERY_S = 0.1
READ_MEMORY_EVERY_S = 10.0


def expected(case: Case) -> tuple[Any, ...]:
    tools = None if case.tools is None else list(case.tools)
    message = unspool.parse(case.input, case.format, tools, finish_reason=case.finish_reason, **case.options)
    calls = [(call.name, call.arguments or "{") for call in message.tool_calls]
    return message.content, message.reasoning, calls, message.finish_reason


async def ask(port: int, model: str) -> tuple[Any, ...]:
    """Return the accumulated result of a streamed chat completion."""
    body = json.dumps(
        {"model": model, "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    ).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
    content, reasoning, finish, is_done = "", "", None, False
    calls: list[list[str]] = []
    while line := await reader.readline():
        if not line.startswith(b"data: "):
            continue
        if line == b"data: [DONE]\n":
            is_done = True
            continue
        choice = json.loads(line[6:])["choices"][0]
        delta = choice["delta"]
        content += delta.get("content") or ""
        reasoning += delta.get("reasoning_content") or ""
        finish = choice["finish_reason"] or finish
        for call in delta.get("tool_calls", ()):
            if "id" in call:
                calls.append([call["function"]["name"], ""])
            calls[call["index"]][1] += call["function"]["arguments"]
    writer.close()
    return content, reasoning, [tuple(call) for call in calls], finish if is_done else "not ended"


async def run_client(port: int, cases: Iterable[Case]) -> tuple[int, list[str]]:
    """Request these cases one after the other; returns the number of streams and the errors."""
    count, wrong = 0, []
    for case in cases:
        model = f"{case.format}:{case.name}"
        found = await ask(port, model)
        count += 1
        if found != expected(case):
            wrong.append(f"{model}: {found}")
    return count, wrong


def choose_until(end_s: float, cases: list[Case], seed: int) -> Iterator[Case]:
    choose = random.Random(seed)
    while time.perf_counter() < end_s:
        yield choose.choice(cases)


def ping(url: str) -> None:
    """Send requests until standard input closes; print the milliseconds of each answer."""
    import threading

    threading.Thread(target=lambda: (sys.stdin.read(), setattr(ping, "ends", True)), daemon=True).start()
    while not getattr(ping, "ends", False):
        begin_s = time.perf_counter()
        with urllib.request.urlopen(url, timeout=30) as answer:
            answer.read()
        print(1000 * (time.perf_counter() - begin_s), flush=True)
        time.sleep(PING_EVERY_S)


def resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def wait_until_ready(url: str) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the server did not start")


async def run_clients(
    port: int, pid: int, client_count: int, seconds: float
) -> tuple[int, list[str], list[float]]:
    """Return the number of streams, the errors, and the memory after the first round and in the second.

    In the first round the clients share all cases; in the second each requests random ones until the time is over.
    """
    cases = [case for case in shipped_cases() if not case.options]
    shared = iter(cases)
    results = await asyncio.gather(*(run_client(port, shared) for _ in range(client_count)))
    memory_mib = [resident_mib(pid)]
    end_s = time.perf_counter() + seconds
    clients = [
        asyncio.create_task(run_client(port, choose_until(end_s, cases, seed)))
        for seed in range(client_count)
    ]
    while time.perf_counter() < end_s:
        await asyncio.sleep(min(READ_MEMORY_EVERY_S, seconds / 4))
        memory_mib.append(resident_mib(pid))
    results += await asyncio.gather(*clients)
    return sum(count for count, _ in results), [text for _, wrong in results for text in wrong], memory_mib


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument(
        "--delay", type=float, default=0.02, help="seconds that a demo model takes for a token"
    )
    parser.add_argument("--ping", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ping:
        ping(options.ping)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["serve", "--demo", "--port", str(port), "--max-workers", str(options.clients), "--delay",
               str(options.delay), "--log-level", "error"]  # fmt: skip
    with subprocess.Popen([sys.executable, "-m", "unspool", *command]) as server:
        try:
            wait_until_ready(f"http://127.0.0.1:{port}/readiness")
            pinger = subprocess.Popen(
                [sys.executable, __file__, "--ping", f"http://127.0.0.1:{port}/liveness"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            count, wrong, memory_mib = asyncio.run(
                run_clients(port, server.pid, options.clients, options.seconds)
            )
            pings_ms = sorted(float(line) for line in pinger.communicate()[0].split())
        finally:
            server.terminate()
    print(f"{options.clients} clients, {options.seconds:g} s: {count} streams, {len(wrong)} wrong")
    for text in wrong[:5]:
        print(f"  {text}")
    p99_ms = pings_ms[int(0.99 * len(pings_ms))]
    print(
        f"/liveness: {len(pings_ms)} answers, median {statistics.median(pings_ms):.1f} ms, 99th percentile "
        f"{p99_ms:.1f}, longest {pings_ms[-1]:.1f}"
    )
    first_mib, *later_mib = memory_mib
    half = len(later_mib) // 2
    growth_mib = statistics.mean(later_mib[half:]) - statistics.mean(later_mib[:half])
    print(f"the server's memory after every case once: {first_mib:.1f} MiB")
    print(
        f"then, every {min(READ_MEMORY_EVERY_S, options.seconds / 4):g} s: "
        f"{', '.join(f'{mib:.1f}' for mib in later_mib)}; the second half's mean is {growth_mib:+.2f} of the first's"
    )


if __name__ == "__main__":
    main()
