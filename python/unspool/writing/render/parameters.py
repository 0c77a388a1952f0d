"""Writes tagged parameters; each uses the pattern that fits its value."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from typing import Any

from unspool._core import Pattern
from unspool.writing.render.pieces import Written, as_text, fill
from unspool.writing.render.values import json_text

__all__ = ["ways_to_write", "write_parameters"]

_JSON_TYPES = {
    str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array",
    type(None): "null",
}  # fmt: skip
_ELEMENT_NAME = re.compile(r"[\w.-]+")


def write_parameters(patterns: tuple[Pattern, ...], arguments: Mapping[str, Any], choice: int = 0) -> Written:
    """Write all parameters of a call.

    Args:
        patterns: The alternatives for one parameter.
        choice: Index of the notation for each value, modulo their number.
    """
    made: list[Any] = []
    for key, value in arguments.items():
        ways = _ways(patterns, value)
        pattern, write = ways[choice % len(ways)]
        made += _parameter(pattern, key, value, write)
    return tuple(made)


def ways_to_write(patterns: tuple[Pattern, ...], arguments: Mapping[str, Any]) -> int:
    """The largest number of notations that any argument has."""
    return max((len(_ways(patterns, value)) for value in arguments.values()), default=1)


_Write = Callable[[Any], str]


def _ways(patterns: tuple[Pattern, ...], value: Any) -> list[tuple[Pattern, _Write]]:
    """The patterns that can hold the value, best first, each with the function that writes it."""
    named = [pattern for pattern in patterns if pattern.has("key")] or list(patterns)
    literal = [pattern for pattern in named if "verbatim" in pattern.options("value")]
    others = [pattern for pattern in named if "verbatim" not in pattern.options("value")]
    if isinstance(value, str):
        plain = [
            pattern for pattern in others if "xml" in pattern.options("value") and value == _escaped(value)
        ]
        others = [pattern for pattern in others if pattern not in plain]
        return [(pattern, str) for pattern in (*plain, *literal, *others)]
    return [(pattern, write) for pattern in others or named for write in _writers(pattern, value)]


def _writers(pattern: Pattern, value: Any) -> list[_Write]:
    is_python = "python" in pattern.options("value") and isinstance(value, (Mapping, list, tuple))
    return [repr, json_text] if is_python else [json_text]


def _parameter(pattern: Pattern, key: str, value: Any, write: _Write) -> Written:
    if pattern.count("key") == 2:  # <key>..</key>: elements in elements
        return fill(pattern, {"key": as_text(key), "value": _element(pattern, value)})
    text = write(value)
    if "xml" in pattern.options("value"):
        text = _escaped(text)
    name = html.escape(key) if "xml" in pattern.options("key") else key
    kind = _JSON_TYPES.get(type(value), "array")
    return fill(pattern, {"key": as_text(name), "value": as_text(text), "type": as_text(kind)})


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


def _element(pattern: Pattern, value: Any) -> Written:
    if isinstance(value, (Mapping, list, tuple)) and _nests(value):
        items = value.items() if isinstance(value, Mapping) else [("item", item) for item in value]
        return tuple(piece for key, item in items for piece in _parameter(pattern, key, item, json_text))
    return as_text(value if isinstance(value, str) else json_text(value))


def _nests(value: Any) -> bool:
    """Whether a value survives as elements: an empty one would look like empty text."""
    if isinstance(value, Mapping):
        is_named = all(_ELEMENT_NAME.fullmatch(key) for key in value)
        return bool(value) and is_named and all(map(_nests, value.values()))
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_nests, value))
    return bool(value != "")
