"""Validates a format file and its examples."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from unspool.core.format.compile_format import compile_format
from unspool.errors import FormatError
from unspool.formats.explain_format import (
    SAMPLE_CALL,
    SAMPLE_CONTENT,
    SAMPLE_REASONING,
    SAMPLE_TOOLS,
    sample_of,
)
from unspool.formats.format_file import FormatFile, read_format, read_text
from unspool.streams.parser import parse
from unspool.testing.cases import Case
from unspool.testing.check import assert_format
from unspool.writing.render.render import write_text

__all__ = ["check_file", "example_faults", "sample_faults"]

_NO_EXAMPLE = (
    "no example. Append [[example]] with input, an output of the model, and with the content, reasoning and calls "
    "that are in it"
)


def check_file(path: str | os.PathLike[str]) -> list[str]:
    """Return the faults of a format file, each with its line; empty if there are none.

    Validates keys and patterns, parses rendered samples, and runs each example at every split.
    """
    name = str(path)
    try:
        file = read_format(path)
        compile_format(file)
    except FormatError as error:
        text = str(error)
        return [text if text.startswith(name) else f"{name}:1: {text}"]
    faults = sample_faults(file, name, read_text(path))
    if not faults and not file.examples:
        return [f"{name}:1: {_NO_EXAMPLE}"]
    return faults or example_faults(file, name)


def _line_of(text: str, *keys: str) -> int:
    """Return the line of the first of these keys that the file has; 1 if it has none."""
    for key in keys:
        if found := re.search(rf"^[ \t]*{key}[ \t]*=", text, re.M):
            return text.count("\n", 0, found.start()) + 1
    return 1


def example_faults(file: FormatFile, name: str) -> list[str]:
    """Report examples whose result differs from the expected one at any split."""
    faults = []
    for number, (place, example) in enumerate(zip(file.example_lines, file.examples, strict=True), 1):
        try:
            assert_format(file, Case.from_example(file, example, number))
        except (AssertionError, ValueError) as error:
            faults.append(f"{name}:{place}: {error}")
    return faults


def sample_faults(file: FormatFile, name: str, text: str = "") -> list[str]:
    """Report a sample that does not parse to the message from which it was rendered, with and without its end.

    `text` is the file's text, to find the line.
    """
    reasoning = SAMPLE_REASONING if file.has_reasoning else ""
    content = "" if file.has_tools else SAMPLE_CONTENT
    for output, written, tools in _samples(file):
        message = parse(output, file, tools)
        calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls if call.is_complete]
        parts = (calls, message.reasoning.strip(), message.content.strip())
        if message.malformed or parts != (written, reasoning, content):
            line = _line_of(text, "call", "reasoning", "content")
            return [
                f"{name}:{line}: a sample is not read back: {output!r} gives the calls {calls}, the reasoning "
                f"{message.reasoning!r} and the content {message.content!r}"
            ]
    return []


def _samples(file: FormatFile) -> Iterator[tuple[str, list[tuple[str, Any]], Any]]:
    """Yield outputs, each with its calls and with the request's tools."""
    sample = sample_of(file)
    for end in ("", *file.facts.ends):
        yield sample + end, [SAMPLE_CALL] if file.has_tools else [], SAMPLE_TOOLS
    if not any(form.parameters for form in file.shape.forms):
        return
    # One parameter follows another, a value has a sign, and another call follows.
    arguments = {"city": "Paris", "note": "3 < 4 > 2", "days": 3}
    types = {"city": {"type": "string"}, "note": {"type": "string"}, "days": {"type": "integer"}}
    calls = [("get_weather", arguments), ("get_weather", {"days": 12})]
    written = [{"name": name, "arguments": values} for name, values in calls]
    output = write_text(file, {"reasoning": SAMPLE_REASONING, "tool_calls": written})
    yield output, calls, [{"name": "get_weather", "parameters": {"type": "object", "properties": types}}]
