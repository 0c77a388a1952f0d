"""Hypothesis strategies for model output: valid, truncated, mutated and random."""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import strategies as st
from unspool.formats.format_file import FormatFile, get_format
from unspool.writing.render.render import write_text

__all__ = ["TOOLS", "calls", "mutated", "outputs", "render", "soup"]

#: The tools that the generated calls use.
TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "metric": {"type": "boolean"},
                "options": {"type": "object"},
                "list": {"type": "array"},
                "note": {"type": ["string", "null"]},
                "either": {"type": ["string", "integer", "object"]},
            },
        },
    },
    {"name": "now", "parameters": {"type": "object", "properties": {}}},
]

# Text that is hard for parsers: markers of every format, and the characters of JSON and tags.
_PIECES = [
    "<tool_call>", "</tool_call>", "<think>", "</think>", "\n", "\n\n", " ", "   ",
    '{"name": "get_weather", "arguments": {"city": "Paris"}}', '{"name": "now"}',
    '{"name": "get_weather", "parameters": {"city": "</tool_call>"}}',
    "{", "}", "[", "]", '"', ",", ";", ":", "```json\n", "```", "\n```\n",
    "<function=get_weather>", "<function=now>", "</function>", "<parameter=city>", "<parameter=days>",
    "<parameter=metric>", "<parameter=options>", "<parameter=list>", "<parameter=note>",
    "<parameter=either>", "</parameter>", "Paris", "12", "-1.5e3", "true", "null", '{"k": [1, 2]}',
    "[1, ", "[TOOL_CALLS]", "[ARGS]", "get_weather", "now", "<|python_tag|>", "hello", "ü😀",
    "\u00a0", "<|im_end|>", "<|eot_id|>", "</s>", "\\", "\\u00e9", "\\ud83d", "\\ude00", '\\"',
    '"name": ', '"arguments": ', '"parameters": ', "<tool", "</thi", "<par", "</para",
    '"{\\"city\\": 1}"', '{"type": "function", "function": ', "\x00", "\x1b", "\ufffd",
]  # fmt: skip

_text = st.text(
    alphabet=st.one_of(
        st.characters(exclude_categories=["Cs"], max_codepoint=0x7F),
        st.sampled_from('äß世界🎉👩\u200d{}[]<>"\\/`\n\t ,:;=|'),
    ),
    max_size=30,
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3),
    max_leaves=6,
)


def _pieces(format: str) -> list[str]:
    """Text that is hard for every parser, and this format's markers, whole and truncated."""
    markers = get_format(format).facts.markers
    return [*_PIECES, *markers, *markers, *(marker[: len(marker) // 2] for marker in markers)]


def soup(format: str) -> st.SearchStrategy[str]:
    """Pieces in any order: mostly malformed."""
    return _soup(tuple(_pieces(format)))


# Hypothesis reads a strategy once; a new one for every example takes more time than the example.
@functools.cache
def _soup(pieces: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces) | _text, max_size=24).map("".join)


@functools.cache
def _one_piece(pieces: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.sampled_from([*pieces, ""])


_VALUES = {
    "city": _text,
    "days": st.integers(),
    "metric": st.booleans(),
    "options": st.dictionaries(_text, _json, max_size=3),
    "list": st.lists(_json, max_size=3),
}
_names = st.lists(st.sampled_from(sorted(_VALUES)), unique=True, max_size=4)


@st.composite
def _calls(draw: st.DrawFn) -> list[tuple[str, dict[str, Any]]]:
    made: list[tuple[str, dict[str, Any]]] = []
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            made.append(("now", {}))
        else:
            made.append(("get_weather", {name: draw(_VALUES[name]) for name in draw(_names)}))
    return made


_any_calls = _calls()
_calls_or_none: st.SearchStrategy[list[tuple[str, dict[str, Any]]]] = _any_calls | st.just([])


def calls() -> st.SearchStrategy[list[tuple[str, dict[str, Any]]]]:
    """One to three calls: a tool's name and its arguments."""
    return _any_calls


def render(
    format: str | FormatFile,
    reasoning: str,
    content: str,
    made: list[tuple[str, dict[str, Any]]],
    form: int = 0,
) -> str:
    """The text that the format's model writes for an answer, without the check that it parses back.

    Args:
        form: Index of the format's form of calls, modulo their number.
    """
    file = get_format(format) if isinstance(format, str) else format
    calls = [{"name": name, "arguments": arguments} for name, arguments in made]
    message = {"reasoning": reasoning, "content": content, "tool_calls": calls}
    return write_text(file, message, form)


@st.composite
def _valid(draw: st.DrawFn, format: str) -> str:
    return render(format, draw(_text), draw(_text), draw(_calls_or_none), draw(st.integers(0, 2)))


@st.composite
def mutated(draw: st.DrawFn, format: str, base: st.SearchStrategy[str]) -> str:
    """An output with a few places deleted, duplicated or overwritten."""
    pieces = _one_piece(tuple(_pieces(format)))
    text = draw(base)
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + 6)))
        text = text[:begin] + draw(pieces) + text[end:]
    return text


@st.composite
def _cut_off(draw: st.DrawFn, base: st.SearchStrategy[str]) -> str:
    text = draw(base)
    return text[: draw(st.integers(0, len(text)))]


def outputs(format: str) -> st.SearchStrategy[str]:
    """Valid, truncated, mutated and random outputs of a format."""
    return _outputs(format, tuple(_pieces(format)))


@functools.cache
def _outputs(format: str, pieces: tuple[str, ...]) -> st.SearchStrategy[str]:
    valid = _valid(format)
    return st.one_of(valid, _cut_off(valid), mutated(format, valid), _soup(pieces))
