"""Measures the cost of following arguments while they stream: `python bench/arguments.py`.

The input is a call whose arguments grow from 8 to 64 KB, in chunks of four bytes: a long string, and many small
members. Compares the parser alone with `ArgumentReader`, with `PartialArguments`, and with a JSON parser for partial
text (`jiter`, if it is installed) that rereads all of the arguments after each chunk, as clients of an API do.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import unspool
from unspool import ArgumentReader, Delta, PartialArguments

try:
    from jiter import from_json
except ImportError:
    from_json = None

CHUNK = 4
REPEATS = 3
SIZES = (8, 16, 32, 64)
SHAPES: dict[str, Callable[[int], dict[str, Any]]] = {
    "a string": lambda size: {"text": "Some words of a long text. " * (size // 27)},
    "small members": lambda size: {
        "items": [{"id": i, "name": f"item {i}", "ok": True} for i in range(size // 42)]
    },
}
Read = Callable[[list[Delta]], Any]


def reread() -> Read:
    """The baseline: a client that has only the text."""
    text = bytearray()

    def read(deltas: list[Delta]) -> Any:
        for delta in deltas:
            if delta.kind == "tool_call_arguments":
                text.extend(delta.text.encode())
        return from_json(bytes(text), partial_mode="trailing-strings") if text else None

    return read


WAYS: dict[str, Callable[[], Read]] = {
    "parser alone": lambda: len,
    "ArgumentReader": lambda: ArgumentReader().put,
    "PartialArguments": lambda: PartialArguments().put,
    **({"jiter, all again": reread} if from_json is not None else {}),
}


def seconds(pieces: list[bytes], way: Callable[[], Read]) -> float:
    parser, read = unspool.Parser("hermes"), way()
    begin = time.perf_counter()
    for piece in pieces:
        read(parser.parse_chunk(piece))
    read(parser.finish().deltas)
    return time.perf_counter() - begin


def main() -> None:
    """Print a table of µs per chunk."""
    print("| arguments | KB | " + " | ".join(WAYS) + " |")
    print("|---" * (len(WAYS) + 2) + "|")
    for shape, make in SHAPES.items():
        for size in SIZES:
            call = json.dumps({"name": "f", "arguments": make(size * 1024)})
            raw = f"<tool_call>\n{call}\n</tool_call>".encode()
            pieces = [raw[i : i + CHUNK] for i in range(0, len(raw), CHUNK)]
            best = [min(seconds(pieces, way) for _ in range(REPEATS)) for way in WAYS.values()]
            print(
                f"| {shape} | {size} | " + " | ".join(f"{1e6 * one / len(pieces):.2f}" for one in best) + " |"
            )


if __name__ == "__main__":
    main()
