"""Parses a dataset of completions with Ray Data, and measures it with one worker and with two.

Run: python examples/ray/parse_dataset.py [--count 100000] [--workers 1 2] [--repeat 3]

On the cluster that RAY_ADDRESS names, or on a new one on this machine.
"""

from __future__ import annotations

import argparse
import statistics
import time

import pyarrow as pa
import ray
from ray.data import Dataset
from unspool.integrations.ray import parse_completions

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>'
COMPLETIONS = [
    "It rains in Paris, and it will go on until the evening; take an umbrella.",
    f"<think>\nThe user asks about the weather, so I look it up.\n</think>\n\n{CALL}",
    f"I look it up for both of them.\n{CALL}\n{CALL}",
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Par',  # the model ran out of tokens
]


def make_dataset(count: int, block_count: int = 16) -> Dataset:
    """`count` completions, in memory."""
    texts = [f"{COMPLETIONS[i % len(COMPLETIONS)]}" for i in range(count)]
    reasons = ["length" if i % len(COMPLETIONS) == 3 else "stop" for i in range(count)]
    size = -(-count // block_count)
    tables = [
        pa.table({"completion": texts[at : at + size], "reason": reasons[at : at + size]})
        for at in range(0, count, size)
    ]
    return ray.data.from_arrow(tables).materialize()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=100_000)
    arguments.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments.add_argument("--repeat", type=int, default=3)
    given = arguments.parse_args()

    ray.init(ignore_reinit_error=True, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    dataset = make_dataset(given.count)
    for workers in given.workers:
        times_s = []
        for _ in range(given.repeat):
            begin_s = time.perf_counter()
            parsed = parse_completions(
                dataset, "qwen3", "completion", finish_reason_column="reason", workers=workers
            ).materialize()
            times_s.append(time.perf_counter() - begin_s)
        counts: dict[str, int] = {}
        for row in parsed.groupby("finish_reason").count().take_all():
            counts[row["finish_reason"]] = row["count()"]
        took_s = statistics.median(times_s)
        print(
            f"{workers} workers: {parsed.count()} completions in {took_s:.2f} s, the workers' start included"
        )
        print(f"  {parsed.count() / took_s:,.0f} a second; finish reasons {counts}")


if __name__ == "__main__":
    main()
