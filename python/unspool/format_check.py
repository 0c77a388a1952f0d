"""Checks a format file as its author would want it checked."""

from __future__ import annotations

import json
import os
from pathlib import Path

from unspool.errors import FormatError
from unspool.explain_format import SAMPLE_CALL, SAMPLE_TOOLS, sample_of
from unspool.format_files import FormatFile, read_format
from unspool.formats import compile_format
from unspool.parser import parse
from unspool.testing.check import assert_format, example_cases

__all__ = ["check_file", "example_faults", "sample_faults"]


def check_file(path: str | os.PathLike[str]) -> list[str]:
    """What is wrong with a format file, each fault with its line; empty where nothing is.

    Its keys and patterns are validated, each example is run at every split, and a sample of what the model
    writes is read back.
    """
    name = Path(path).name
    try:
        file = read_format(path)
        compile_format(file)
    except FormatError as error:
        text = str(error)
        return [text if text.startswith(name) else f"{name}:1: {text}"]
    if not file.examples:
        return [f"{name}:1: no example; write [[example]] with input and what it parses to"]
    return example_faults(file, name) or sample_faults(file, name)


def example_faults(file: FormatFile, name: str) -> list[str]:
    """A fault for each example that is not read as it says, at any split."""
    faults = []
    for place, case in zip(file.example_lines, example_cases(file), strict=True):
        try:
            assert_format(file, case)
        except AssertionError as error:
            faults.append(f"{name}:{place}: {error}")
    return faults


def sample_faults(file: FormatFile, name: str) -> list[str]:
    """A fault where what the format says that its model writes is not read so."""
    sample = sample_of(file)
    message = parse(sample, file, SAMPLE_TOOLS)
    calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls if call.is_complete]
    if calls == ([SAMPLE_CALL] if file.has_tools else []) and not message.malformed:
        return []
    return [f"{name}:1: a sample is not read back: {sample!r} gives {calls} and content {message.content!r}"]
