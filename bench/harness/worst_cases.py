"""Outputs that are hard to parse, in Hermes' format and in pieces of four characters unless stated otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable

from harness.workloads import Load

CHUNK = 4


def make(name: str, kilobytes: int) -> Load:
    """Make one of `CASES`, of about this many KB. Costs are per four characters, whatever the pieces are."""
    content, body, chunk = CASES[name](kilobytes * 1024)
    text = content
    if body:
        text += f'\n<tool_call>\n{{"name": "write_file", "arguments": {body}}}\n</tool_call>'
    pieces = [text[i : i + chunk] for i in range(0, len(text), chunk or len(text))] if chunk else [text]
    return Load("hermes", [0] * len(pieces), pieces, content, body, units=max(1, len(text) // CHUNK))


def _string(unit: str) -> Callable[[int], tuple[str, str, int]]:
    """Make a call with one string that repeats a JSON text."""
    return lambda size: ("", '{"code": "' + unit * (size // len(unit)) + '"}', CHUNK)


def _content(unit: str) -> Callable[[int], tuple[str, str, int]]:
    return lambda size: (unit * (size // len(unit)) + " end", "", CHUNK)


def _code(size: int, chunk: int) -> tuple[str, str, int]:
    line = 'def f(a, b=None):\n    return {"a": [a, "\\n"], "größe": b}\n'
    return "", json.dumps({"code": line * (size // len(line))}, ensure_ascii=False), chunk


def _deep(size: int) -> tuple[str, str, int]:
    """Make a call with lists and objects of depth 400, one after the other."""
    one = '[{"a": ' * 200 + "1" + "}]" * 200
    return "", '{"code": [' + ", ".join([one] * (size // len(one))) + "]}", CHUNK


def _members(size: int) -> tuple[str, str, int]:
    items = [f'{{"id": {i}, "ok": true, "x": -1.5e3}}' for i in range(size // 36)]
    return "", '{"code": [' + ", ".join(items) + "]}", CHUNK


CASES: dict[str, Callable[[int], tuple[str, str, int]]] = {
    "beginnings of a marker, in content": _content("<tool_cal"),
    "brackets that open nothing": _content("a < b <t "),
    "openers that are only mentioned": _content("the tag <tool_call> is a tag. "),
    "markers within a string": _string("</tool_call> <tool_call> "),
    "backslashes": _string("\\\\"),
    "surrogate escapes": _string("\\ud83d\\ude00"),
    "spaces in a string": _string(" "),
    "spaces in content": _content(" " * 512 + "."),
    "depth 400": _deep,
    "small members": _members,
    "a byte a chunk": lambda size: _code(size, 1),
    "one chunk": lambda size: _code(size, 0),
}
