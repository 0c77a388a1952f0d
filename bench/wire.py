"""Measures the cost of writing a delta to the wire, with the native writer and with several ways in Python.

python bench/wire.py [--deltas 20000] [--repeat 5]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from unspool import Delta, DeltaChannel, WireWriter

PROTOCOLS = ["chat_completions", "completions", "responses", "messages", "open_inference", "google"]
TEXT = " a token's text,"


def json_property(deltas: list[Delta]) -> None:
    """Write only the delta, natively, without a chunk around it."""
    for delta in deltas:
        _ = delta.json


def dumps_delta(deltas: list[Delta]) -> None:
    """Write only the delta, in Python."""
    for delta in deltas:
        json.dumps(delta.to_openai())


def dumps_chunk(deltas: list[Delta]) -> None:
    """Write the whole frame of a chat chunk, in Python."""
    head: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "model",
    }
    for delta in deltas:
        choice = {"index": delta.choice, "delta": delta.to_openai(), "finish_reason": None}
        f"data: {json.dumps({**head, 'choices': [choice]})}\n\n".encode()


def writer(protocol: str, batch: int = 1) -> Callable[[list[Delta]], None]:
    """Return a function that writes the whole frame natively, `batch` deltas per call."""

    def run(deltas: list[Delta]) -> None:
        wire = WireWriter(protocol, model="model")
        wire.begin()
        if batch == 1:
            for delta in deltas:
                wire.write(delta)
        else:
            for place in range(0, len(deltas), batch):
                wire.write(deltas[place : place + batch])

    return run


def drain(deltas: list[Delta], batch: int = 8) -> None:
    """Write the whole frame from a channel; the cost of filling the channel is excluded."""
    channel = DeltaChannel()
    wire = WireWriter("chat_completions", model="model")
    for place in range(0, len(deltas), batch):
        channel.put_many(deltas[place : place + batch])
        wire.drain(channel)


def drain_objects(deltas: list[Delta], batch: int = 8) -> None:
    """Write the whole frame from a channel, through Python objects."""
    channel = DeltaChannel()
    wire = WireWriter("chat_completions", model="model")
    for place in range(0, len(deltas), batch):
        channel.put_many(deltas[place : place + batch])
        wire.write(channel.drain())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--deltas", type=int, default=20_000)
    arguments.add_argument("--repeat", type=int, default=5)
    options = arguments.parse_args()
    deltas = [Delta("content", text=TEXT, token_span=(i, i + 1)) for i in range(options.deltas)]
    ways: dict[str, Callable[[list[Delta]], None]] = {
        "Delta.json (the delta alone)": json_property,
        "json.dumps(to_openai()) (the delta alone)": dumps_delta,
        "json.dumps of a chat chunk, framed": dumps_chunk,
        **{f"WireWriter {protocol}": writer(protocol) for protocol in PROTOCOLS},
        "WireWriter chat_completions, 8 a call": writer("chat_completions", 8),
        "a channel, 8 at a time, written as objects": drain_objects,
        "a channel, 8 at a time, drained natively": drain,
    }
    print("| way | ns a delta |\n|---|---:|")
    for name, run in ways.items():
        best = float("inf")
        for _ in range(options.repeat):
            start = time.perf_counter()
            run(deltas)
            best = min(best, time.perf_counter() - start)
        print(f"| {name} | {best / options.deltas * 1e9:.0f} |")


if __name__ == "__main__":
    main()
