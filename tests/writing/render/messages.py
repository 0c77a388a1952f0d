"""Hypothesis strategies for messages that are hard to write: markers in every place, odd text, nested values."""

from __future__ import annotations

import functools
import json
from typing import Any

import unspool
from hypothesis import strategies as st

SIGNS = "äß世界🎉👩\u200d{}[]<>\"\\/`\n\t ,:;=|'&"
TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}
NAMES = ("get_weather", "now", "search-2")
KEYS = ("city", "days", "opts", "on_x")

Message = dict[str, Any]


def texts(file: unspool.FormatFile) -> st.SearchStrategy[str]:
    """Plain words, odd signs, and the format's own markers within them."""
    return _texts(tuple(file.facts.markers))


# Hypothesis reads a strategy once; a new one for every message takes most of a test's time.
@functools.cache
def _texts(markers: tuple[str, ...]) -> st.SearchStrategy[str]:
    words = st.sampled_from(["Paris", "a b", "it's", "3", "true", "null", "", "</b>", "&lt;", "x=1"])
    signs = st.text(st.sampled_from(SIGNS) | st.characters(exclude_categories=["Cs"]), max_size=8)
    parts = [words, signs]
    if markers:
        parts.append(st.sampled_from(markers))
    return st.lists(st.one_of(parts), max_size=3).map("".join)


@functools.cache
def _values(markers: tuple[str, ...]) -> st.SearchStrategy[Any]:
    """JSON of every type, up to three levels deep."""
    numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    scalars = _texts(markers) | numbers | st.booleans() | st.none()
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
        ),
        max_leaves=5,
    )


@functools.cache
def _some_text(markers: tuple[str, ...]) -> st.SearchStrategy[str]:
    return _texts(markers).filter(str.strip)


@functools.cache
def _text_or_none(markers: tuple[str, ...]) -> st.SearchStrategy[str | None]:
    return _texts(markers) | st.none()


@st.composite
def messages(draw: st.DrawFn, file: unspool.FormatFile) -> Message:
    """What the format has of reasoning, content and up to three calls."""
    markers = tuple(file.facts.markers)
    message: Message = {"role": "assistant", "content": draw(_text_or_none(markers))}
    if file.has_reasoning:
        message["reasoning_content"] = draw(_text_or_none(markers))
    if file.has_tools:
        is_keyless = any("${value}" in call for call in file.patterns["call"])
        counts = st.just(1) if is_keyless else st.integers(0, 3)
        calls = []
        for _ in range(draw(st.integers(0, 3))):
            keys = draw(st.lists(st.sampled_from(KEYS), unique=True, min_size=draw(counts), max_size=3))
            keys = keys[:1] if is_keyless else keys
            given = _some_text(markers) if is_keyless else _values(markers)
            arguments = {key: draw(given) for key in keys}
            name = draw(st.sampled_from(NAMES)) + (keys[0] if is_keyless else "")
            calls.append({"function": {"name": name, "arguments": arguments}})
        message["tool_calls"] = calls
    return message


def calls_of(message: Message) -> list[tuple[str, dict[str, Any]]]:
    """The names and arguments of a message's calls."""
    functions = [call["function"] for call in message.get("tool_calls", ())]
    return [(function["name"], function["arguments"]) for function in functions]


def tools_of(message: Message) -> list[dict[str, Any]]:
    """Tools whose schemas allow what the calls give."""
    given: dict[str, dict[str, list[Any]]] = {}
    for name, arguments in calls_of(message):
        for key, value in arguments.items():
            given.setdefault(name, {}).setdefault(key, []).append(_schema(value))
        given.setdefault(name, {})
    return [
        {
            "name": name,
            "parameters": {"type": "object", "properties": {k: _any_of(s) for k, s in keys.items()}},
        }
        for name, keys in given.items()
    ]


def _any_of(schemas: list[Any]) -> Any:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _schema(value: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": TYPES.get(type(value), "null")}
    if isinstance(value, dict):
        schema["properties"] = {key: _schema(item) for key, item in value.items()}
    if isinstance(value, list) and value:
        schema["items"] = _any_of([_schema(item) for item in value])
    return schema


def is_same(message: Message, read: unspool.Message) -> bool:
    """Whether the parser has read just this message. True is no number here."""
    found = [(call.name, _plain(json.loads(call.arguments))) for call in read.tool_calls if call.is_complete]
    meant = [(name, _plain(arguments)) for name, arguments in calls_of(message)]
    reasoning = message.get("reasoning_content") or ""
    return (
        (read.reasoning, read.content, found) == (reasoning, message["content"] or "", meant)
        and len(read.tool_calls) == len(meant)
        and not read.malformed
    )


def _plain(value: Any) -> Any:
    """The value such that unlike JSON is unlike in Python."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else (type(value) is bool, value)
