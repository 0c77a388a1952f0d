"""Runs a case at every split, and reports differences."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from unspool._core import Delta
from unspool.core.stream.message import Message
from unspool.formats.format_file import FormatFile
from unspool.streams.parser import Parser
from unspool.testing.cases import Case
from unspool.testing.splits import byte_splits, pieces_of

__all__ = ["accumulate", "assert_format", "check_case", "example_cases"]


def example_cases(file: FormatFile) -> list[Case]:
    """Return the examples of a format file as cases named "example 1" and so on."""
    return [Case.from_example(file, example, number) for number, example in enumerate(file.examples, 1)]


def assert_format(format: str | FormatFile, case: Case, *, random_splits: int = 50) -> None:
    """Assert that a format parses a case's input to the expected result, however the input is split.

    Args:
        format: A format's name, or a format file.
        case: From `load_cases`, `shipped_cases` or `example_cases`, or built by hand.
        random_splits: Number of random splits, in addition to the whole input, its single bytes, its single characters,
            and every cut in two.

    Raises:
        AssertionError: A result differs; the message has the split, and the expected and actual results.
    """
    data = case.input.encode()
    for pieces in byte_splits(data):
        check_case(format, case, pieces)
    check_case(format, case, list(case.input))
    rng = random.Random(str(case))
    for _ in range(random_splits):
        cuts = [rng.randrange(len(data) + 1) for _ in range(rng.randint(2, 8))]
        check_case(format, case, pieces_of(data, cuts))


def check_case(format: str | FormatFile, case: Case, pieces: Iterable[Any], **options: Any) -> Message:
    """Assert the expected result for one split of a case's input; return the message."""
    tools = None if case.tools is None else list(case.tools)
    parser = Parser(format, tools, **{**case.options, **options})
    cut = list(pieces)
    deltas = [delta for piece in cut for delta in parser.parse_chunk(piece)]
    message = parser.finish(case.finish_reason)
    lines = [
        f"  {field}: expected {expected!r}\n  {' ' * len(field)}  found    {actual!r}"
        for field, (expected, actual) in case.differences(message).items()
    ]
    if lines:
        raise AssertionError("\n".join([f"{case}, cut into {_shown(cut)}:", *lines]))
    calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    added = accumulate([*deltas, *message.deltas])
    assert added == (message.content, message.reasoning, calls), f"{case}: a client assembles {added}"
    return message


def accumulate(deltas: Iterable[Delta]) -> tuple[str, str, list[tuple[str, str, str]]]:
    """Assemble the message as a strict client of the chat API: content, reasoning, calls."""
    content, reasoning = "", ""
    calls: list[list[str]] = []
    for delta in deltas:
        wire = delta.to_openai()
        assert len(wire) <= 1
        content += wire.get("content", "")
        reasoning += wire.get("reasoning_content", "")
        for entry in wire.get("tool_calls", []):
            function = entry["function"]
            if "id" in entry:
                assert entry["index"] == len(calls), "indices are dense, calls one after the other"
                assert entry["type"] == "function"
                assert function["arguments"] == ""
                calls.append([entry["id"], function["name"], ""])
            else:
                assert set(entry) == {"index", "function"}
                assert set(function) == {"arguments"}
                assert entry["index"] == len(calls) - 1, "only the last call grows"
                assert function["arguments"]
                calls[-1][2] += function["arguments"]
    return content, reasoning, [(id, name, arguments) for id, name, arguments in calls]


def _shown(pieces: list[Any]) -> str:
    text = repr(pieces)
    return text if len(text) <= 200 else f"{text[:200]}… ({len(pieces)} pieces)"
