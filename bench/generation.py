"""Measures the cost of the generation wrapper and the effect of chunked prefill: `python bench/generation.py`.

Prints two tables for tiny random Llamas, so that the model hides as little as possible:

1. CPU time per token of a whole generation, compared with `model.generate` without a streamer and with
   transformers' own `TextIteratorStreamer` and its thread.
2. For prompts of several lengths, in one forward and in chunks: the widest forward, the time, and the process's
   peak memory, each in a separate process. Chunks limit memory; they make nothing faster.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from unspool import StreamGenerator

BACKENDS = ("transformers", "native")
NEW_TOKENS = 300


def make_tokenizer() -> Any:
    """Create a tokenizer whose tokens are bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({token: id for id, token in enumerate([*alphabet, "<end>"])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>")


def make_model(size: int, layers: int, positions: int) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=257, hidden_size=size, intermediate_size=4 * size, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=positions,
        eos_token_id=None, bos_token_id=None, pad_token_id=0, attn_implementation="eager",
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def overhead(repeat: int) -> None:
    from transformers import TextIteratorStreamer

    tokenizer, model = make_tokenizer(), make_model(16, 1, 1024)
    ids = torch.tensor([[72, 101, 108]])
    options: dict[str, Any] = {"max_new_tokens": NEW_TOKENS, "do_sample": False}

    def generate(streamer: Any = None) -> None:
        with torch.inference_mode():
            model.generate(ids, attention_mask=torch.ones_like(ids), streamer=streamer, **options)

    def text_iterator_streamer() -> None:
        streamer = TextIteratorStreamer(tokenizer, skip_prompt=True)
        thread = threading.Thread(target=generate, args=(streamer,))
        thread.start()
        for _ in streamer:
            pass
        thread.join()

    def ours(backend: Any) -> Callable[[], None]:
        generator = StreamGenerator(model, tokenizer, backend=backend)

        def run() -> None:
            for _ in generator.stream(ids, **options):
                pass

        return run

    runs: dict[str, Callable[[], None]] = {
        "model.generate, no streamer": generate,
        "TextIteratorStreamer": text_iterator_streamer,
        **{f"unspool, {backend}": ours(backend) for backend in BACKENDS},
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for round in range(repeat + 1):
        for name, run in runs.items():
            begin = time.process_time()
            run()
            if round:  # the first round warms up
                times[name].append((time.process_time() - begin) / NEW_TOKENS * 1e6)
    bare = median(times["model.generate, no streamer"])
    print("| CPU time per token | µs | to bare |\n|---|---|---|")
    for name, values in times.items():
        print(f"| {name} | {median(values):.0f} | {median(values) / bare:.2f}× |")


def prefill(lengths: list[int], chunk: int) -> None:
    print(
        "\n| prompt | prefill | widest forward | time to first token, s | peak memory, MiB |\n|---|---|---|---|---|"
    )
    for length in lengths:
        for tokens in (0, chunk):
            command = [sys.executable, __file__, "--one", str(length), str(tokens)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            row = json.loads(done.stdout.splitlines()[-1])
            name = f"chunks of {tokens}" if tokens else "in one go"
            print(f"| {length} | {name} | {row['width']} | {row['seconds']:.2f} | {row['peak']:.0f} |")


def prefill_one(length: int, chunk: int) -> None:
    model = make_model(64, 2, length + 64)
    widths: list[int] = []
    model.register_forward_pre_hook(
        lambda _, __, kwargs: widths.append(kwargs["input_ids"].shape[1]), with_kwargs=True
    )
    generator = StreamGenerator(model, make_tokenizer(), backend="native", prefill=chunk or False)
    text = "some words of a prompt, " * (length // 24 + 1)
    result = generator.generate(text[:length], max_new_tokens=2, do_sample=False)
    assert result.prefill.applied == bool(chunk)
    seconds = (result.metrics.time_to_first_token_ms or 0.0) / 1000
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"width": max(widths), "seconds": seconds, "peak": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024, 4096, 8192])
    parser.add_argument("--chunk", type=int, default=512)
    parser.add_argument("--one", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.one:
        return prefill_one(*arguments.one)
    overhead(arguments.repeat)
    prefill(arguments.lengths, arguments.chunk)
    return None


if __name__ == "__main__":
    main()
