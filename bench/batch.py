"""Compares `parse_batch` with a loop of `parse`: alone, with threads, and next to a busy Python thread.

python bench/batch.py [--count 20000] [--repeat 5]
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from unspool import BatchParser, parse, parse_batch

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>'
OUTPUTS = [
    "It rains in Paris, and it will go on until the evening; take an umbrella.",
    f"<think>\nThe user asks about the weather, so I look it up.\n</think>\n\n{CALL}",
    f"I look it up for both of them.\n{CALL}\n{CALL}",
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Par',
]


@contextlib.contextmanager
def busy(is_busy: bool) -> Iterator[None]:
    """Run a second thread that never waits, so that it always competes for the GIL."""
    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spin)
    if is_busy:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if is_busy:
            thread.join()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=20000)
    arguments.add_argument("--repeat", type=int, default=5)
    given = arguments.parse_args()
    outputs = [OUTPUTS[i % len(OUTPUTS)] for i in range(given.count)]
    batch = BatchParser("qwen3")
    ways: dict[str, Callable[[], Any]] = {
        "a loop of parse": lambda: [parse(output, "qwen3") for output in outputs],
        "parse_batch": lambda: parse_batch(outputs, "qwen3"),
        "parse_batch, 2 threads": lambda: parse_batch(outputs, "qwen3", threads=2),
        "BatchParser, 64 at a time": lambda: [
            batch.parse(outputs[at : at + 64]) for at in range(0, len(outputs), 64)
        ],
    }
    print(f"{'µs an output, median':28} {'alone':>8} {'beside a busy thread':>22}")
    for name, way in ways.items():
        medians = []
        for is_busy in (False, True):
            times_s = []
            with busy(is_busy):
                for _ in range(given.repeat):
                    begin_s = time.perf_counter()
                    way()
                    times_s.append(time.perf_counter() - begin_s)
            medians.append(statistics.median(times_s) / given.count * 1e6)
        print(f"{name:28} {medians[0]:8.2f} {medians[1]:22.2f}")


if __name__ == "__main__":
    main()
