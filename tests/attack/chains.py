"""Outputs from a format's own pieces: what its patterns write, in their order, and now and then another piece."""

from __future__ import annotations

import functools
import json
import random
import re
from typing import Any

import unspool

__all__ = ["chain", "draw_tools", "draw_vocabulary"]

_HOLE = re.compile(r"(\$\{[^}]*\})")
_TYPES: list[Any] = ["string", "integer", "number", "boolean", "array", "object", ["string", "null"], None]
_NAMES = ["f", "get_weather", "now", "a.b", "write_file", "w"]
_KEYS = ["city", "o", "content", "arguments", "name", "n", "items"]
_VALUES = [
    "Paris", "12", "-1.5e3", "true", "null", "None", '"x"', "'x'", '{"a": [1, 2]}', "[1, 'a']", "{}", "[]", "", " ", "a\nb",
    "<b>1 < 2</b>", "C:\\x\\y", '\\"', "\u00fc\U0001f600", "```\ncode\n```", "12.", '{"city": "Paris"', "x, y", "f(x=1)",
]  # fmt: skip
_PROSE = [
    "Hello.", " and ", "\n", "\n\n", " ", "The body is\n", "- ", "> ", "`", "```\n", "```json\n", "\n```\n", "~~~\n", '"', "'",
    "<", ">", "</", "{", "}", "[", "]", "(", ")", ",", ":", "|", "=", "\\", "<think>", "</think>", "x",
]  # fmt: skip


@functools.cache
def _patterns(format: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Each pattern's texts and holes."""
    found = unspool.get_format(format).patterns
    return {
        key: tuple(tuple(filter(None, _HOLE.split(text.replace("\\n", "\n")))) for text in texts)
        for key, texts in found.items()
    }


@functools.cache
def _pieces(format: str) -> tuple[str, ...]:
    """The texts between the holes, the markers, and halves of both."""
    texts = {
        text for group in _patterns(format).values() for items in group for text in items if text[:2] != "${"
    }
    texts |= {marker for marker in unspool.get_format(format).facts.markers if marker}
    texts |= {text.strip() for text in texts}
    return tuple(sorted((texts | {text[: len(text) // 2] for text in texts}) - {""}))


class _Chain:
    def __init__(self, format: str, tools: list[dict[str, Any]], rng: random.Random) -> None:
        self.patterns, self.pieces = _patterns(format), _pieces(format)
        self.names = [tool["name"] for tool in tools] or _NAMES
        self.keys = [key for tool in tools for key in tool["parameters"].get("properties", {})] or _KEYS
        self.rng = rng
        self.key: str | None = None  # of the open parameter

    def fill(self, hole: str, depth: int) -> list[str]:
        """What stands in a hole: another pattern's pieces, or one of ours."""
        rng, name = self.rng, hole[2:-1].partition(":")[0]
        inner = {"calls": "call", "parameters": "parameter", "object": "object"}.get(name, "")
        if inner in self.patterns and depth < 4:
            times = rng.choice([0, 1, 1, 1, 2])
            return [piece for _ in range(times) for piece in self.walk(inner, depth + 1)]
        tool = rng.choice([*self.names, *self.names, rng.choice(_NAMES)])
        if name == "name":
            return ['"', tool, '"'] if depth and "object" in self.patterns else [tool]
        if name == "key":  # the same in both tags, mostly
            if self.key is None or rng.random() < 0.1:
                self.key = rng.choice([*self.keys, *self.keys, rng.choice(_KEYS)])
            return [self.key]
        if name == "arguments":
            return self.arguments()
        if name == "object":
            return ["{", '"name": ', '"', tool, '"', ", ", '"arguments": ', *self.arguments(), "}"]
        if name in ("id", "index", "random", "_"):
            return [rng.choice(["call_1", "functions.f:0", "0", "123456789", ""])]
        if name == "...":
            return []
        return [
            rng.choice(_VALUES if rng.random() < 0.6 else _PROSE) for _ in range(rng.choice([0, 1, 1, 2]))
        ]

    def arguments(self) -> list[str]:
        """An object in the format's quotes, or in JSON."""
        pieces = []
        for key in self.rng.sample(self.keys, min(len(self.keys), self.rng.choice([0, 1, 1, 2]))):
            quoted = self.walk("string") if "string" in self.patterns else []
            value = quoted or [
                self.rng.choice([json.dumps(self.rng.choice(_VALUES)), self.rng.choice(_VALUES)])
            ]
            name = key if quoted else json.dumps(key)
            pieces += [*([", "] if pieces else []), name, ": ", *value]
        return ["{", *pieces, "}"]

    def walk(self, key: str, depth: int = 0) -> list[str]:
        """The pieces of a pattern, in order."""
        self.key = None
        items = self.rng.choice(self.patterns.get(key) or ((),))
        return [piece for item in items for piece in (self.fill(item, depth) if item[:2] == "${" else [item])]

    def other(self) -> str:
        """A piece of any kind."""
        kind = self.rng.choice(
            [self.pieces, self.pieces, self.pieces, _PROSE, _VALUES, self.names, self.keys]
        )
        return self.rng.choice(kind or _PROSE)

    def disturb(self, pieces: list[str], rate: float) -> list[str]:
        """The same with some left out, written twice, replaced or preceded by another."""
        made: list[str] = []
        for piece in pieces:
            if self.rng.random() >= rate:
                made.append(piece)
                continue
            choices = ([], [piece, piece], [self.other()], [self.other(), piece], [piece[: len(piece) // 2]])
            made += self.rng.choice(choices)
        return made


def chain(format: str, tools: list[dict[str, Any]], rng: random.Random) -> str:
    """An output of up to a few messages' parts."""
    one = _Chain(format, tools, rng)
    pieces: list[str] = []
    for _ in range(rng.choice([1, 2, 2, 3, 4])):
        keys = [
            key for key in ("reasoning", "calls", "call", "call", "content", "end") if key in one.patterns
        ]
        pieces += one.walk(rng.choice(keys)) if keys and rng.random() < 0.85 else [one.other()]
        pieces += [rng.choice(_PROSE)] if rng.random() < 0.4 else []
    return "".join(one.disturb(pieces, rng.choice([0, 0.05, 0.15, 0.4, 1])))[:4000]


def draw_tools(rng: random.Random) -> list[dict[str, Any]]:
    """One to three tools with parameters of drawn types."""
    tools = []
    for name in rng.sample(_NAMES, rng.choice([1, 1, 2, 3])):
        keys = rng.sample(_KEYS, rng.choice([0, 1, 1, 2, 3]))
        types = {key: rng.choice(_TYPES) for key in keys}
        parameters: dict[str, Any] = {
            "type": "object",
            "properties": {key: {"type": type} if type else {} for key, type in types.items()},
        }
        if rng.random() < 0.3:
            parameters["required"] = keys[:1]
        tools.append({"name": name, "parameters": parameters})
    return tools


def draw_vocabulary(format: str, rng: random.Random) -> list[str]:
    """Which texts are tokens: all markers that are in real tokenizers, some of them, others, or none."""
    own = list(unspool.get_format(format).facts.marker_tokens)
    markers = [text for text in _pieces(format) if len(text) > 1]
    draws = (own, own, [], rng.sample(own, len(own) // 2), rng.sample(markers, min(len(markers), 4)))
    return sorted(set(rng.choice(draws)))
