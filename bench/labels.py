"""Measures the cost of labels: µs of CPU per token with and without them, and per mask.

python bench/labels.py [--tokens 20000] [--repeat 5]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from unspool import BatchParser, TokenStreamer, Vocabulary, loss_mask

WORDS = [" value", " index", " of", " the", ": ", "{", "}", "\\n", " total", " 世界"]
MARKERS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>"]
HEADS = {
    "qwen3": ['\n{"name": "', "write", '", "arguments": {"code": "'],
    "qwen3_coder": ["\n<function=", "write", ">\n<parameter=", "code", ">\n"],
}
TAILS = {"qwen3": ['"}}\n'], "qwen3_coder": ["\n</parameter>\n</function>\n"]}


def answer(format: str, count: int) -> tuple[Vocabulary, list[int]]:
    """Return the vocabulary and the ids of an answer with some reasoning and a call whose text has `count` tokens."""
    pieces = ["<think>", *WORDS[:4] * 5, "</think>", "<tool_call>", *HEADS[format]]
    pieces += [WORDS[i * 7 % len(WORDS)] for i in range(count)]
    pieces += [*TAILS[format], "</tool_call>", "<|im_end|>"]
    known = {piece: number for number, piece in enumerate(dict.fromkeys([*MARKERS, *pieces]))}
    added = [(known[marker], marker, marker, marker == "<|im_end|>") for marker in MARKERS]
    return Vocabulary(known, added), [known[piece] for piece in pieces]


def one_by_one(vocabulary: Vocabulary, format: str, ids: list[int], labels: bool) -> Any:
    streamer = TokenStreamer(vocabulary, format, labels=labels)
    for id in ids:
        streamer.put(id)
    return streamer.finish()


def measure(step: Callable[[], Any], repeat: int) -> float:
    """Return the minimum CPU seconds of several runs."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.process_time()
        step()
        best = min(best, time.process_time() - begin)
    return best


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tokens", type=int, default=20000)
    arguments.add_argument("--repeat", type=int, default=5)
    given = arguments.parse_args()
    for format in HEADS:
        vocabulary, ids = answer(format, given.tokens)
        batches = {on: BatchParser(format, tokenizer=vocabulary, labels=on) for on in (False, True)}
        (whole,) = batches[True].parse([ids])
        assert whole.labels is not None
        assert json.loads(whole.tool_calls[0].arguments)["code"]
        ways: dict[str, Callable[[], Any]] = {
            "batch": lambda batches=batches, ids=ids: batches[False].parse([ids]),
            "batch, labels": lambda batches=batches, ids=ids: batches[True].parse([ids]),
            "id by id": lambda v=vocabulary, f=format, ids=ids: one_by_one(v, f, ids, False),
            "id by id, labels": lambda v=vocabulary, f=format, ids=ids: one_by_one(v, f, ids, True),
            "batch, labels and mask": lambda batches=batches, ids=ids: loss_mask(
                batches[True].parse([ids])[0].labels
            ),
        }
        for name, way in ways.items():
            cost = measure(way, given.repeat) / len(ids) * 1e6
            print(f"{format:12} {name:24} {cost:6.3f} µs a token")


if __name__ == "__main__":
    main()
