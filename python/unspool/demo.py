"""Bundled outputs, one of each format, and a vocabulary to replay them with: no download."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from unspool._core import Vocabulary
from unspool.formats import formats, get_format

__all__ = ["DEMOS", "Demo", "embedded_tokens"]

_TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        },
    },
    {"name": "now", "parameters": {"type": "object", "properties": {}}},
]


@dataclass(frozen=True)
class Demo:
    """One output as a model of this format writes it."""

    format: str
    output: str
    tools: list[dict[str, Any]]


def _demo(format: str, output: str) -> Demo:
    return Demo(format, output, _TOOLS)


DEMOS = {
    demo.format: demo
    for demo in (
        _demo(
            "hermes",
            'Let me look both up. 🌦\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich", '
            '"days": 3}}\n</tool_call>\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call><|im_end|>',
        ),
        _demo(
            "qwen3",
            "<think>\nThe user asks for 北京. I need the weather tool.\n</think>\n\n<tool_call>\n"
            '{"name": "get_weather", "arguments": {"city": "北京"}}\n</tool_call><|im_end|>',
        ),
        _demo(
            "qwen3_coder",
            "I look.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nSão Paulo </parameter> 👩‍👩‍👧\n"
            "</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call><|im_end|>",
        ),
        _demo(
            "llama3_json",
            '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo; Bergen"}}; '
            '{"name": "now", "parameters": {}}<|eom_id|>',
        ),
        _demo(
            "mistral",
            '[TOOL_CALLS]get_weather[ARGS]{"city": "Marseille", "days": 2}[TOOL_CALLS]now[ARGS]{}</s>',
        ),
        _demo(
            "deepseek_r1",
            "They greet me, so I greet back.\n</think>\n\nHello! How can I help? 👋<｜end▁of▁sentence｜>",
        ),
        _demo(
            "json",
            'Sure:\n```json\n{\n  "name": "get_weather",\n  "arguments": {"city": "Reykjavík"}\n}\n```\nOne moment.',
        ),
    )
}

# Pieces of a made-up tokenizer: words with their space, numbers, runs of signs, single bytes beyond ASCII.
_PIECE = re.compile(rb" ?[A-Za-z]{1,6}|[0-9]{1,3}|[^A-Za-z0-9\x80-\xff]{1,2}|[\x80-\xff]")


def _markers(description: Any) -> set[str]:
    if isinstance(description, list):
        return {marker for item in description for marker in _markers(item)}
    if not isinstance(description, dict):
        return set()
    found = {marker for value in description.values() for marker in _markers(value)}
    for key in ("open", "close", "name_close", "ignore"):
        values = description.get(key, [])
        found |= {v for v in values if len(v) > 3 and v[0] in "<[" and v[-1] in ">]"}
    return found


def embedded_tokens(demo: Demo) -> tuple[Vocabulary, list[int]]:
    """A vocabulary in which the format's markers are tokens, and the demo's output in its ids."""
    markers = sorted(_markers(get_format(demo.format).description), key=len, reverse=True)
    ids: list[int] = []
    table: dict[bytes, int] = {}
    added = {marker: 1_000_000 + i for i, marker in enumerate(markers)}
    pattern = re.compile("|".join(map(re.escape, markers)) or "(?!)")
    place = 0
    for found in [*pattern.finditer(demo.output), None]:
        text = demo.output[place : found.start() if found else len(demo.output)]
        for piece in _PIECE.findall(text.encode()):
            ids.append(table.setdefault(piece, len(table)))
        if found:
            ids.append(added[found.group()])
            place = found.end()
    vocabulary = Vocabulary(table, [(id, text, text, True) for text, id in added.items()], is_bytes=True)
    return vocabulary, ids


def check_every_format_has_a_demo() -> None:
    """Raise where a format has none; a test calls this."""
    missing = {file.name for file in formats()} - set(DEMOS)
    if missing:
        raise LookupError(f"no demo for {sorted(missing)}")
