"""Adds an example to a learnt format: one of the outputs of its proof."""

from __future__ import annotations

from typing import Any

from unspool.core.format.compile_format import compile_format
from unspool.core.stream.reading import read_chunks
from unspool.formats.format_file import FormatFile
from unspool.formats.learning.prove import Reading
from unspool.formats.learning.write_toml import to_toml

__all__ = ["with_example"]


def with_example(file: FormatFile, readings: list[Reading]) -> FormatFile:
    """The format with the reading that has the most parts as its example."""
    if not readings:
        return file
    best = max(readings, key=_parts)
    message = read_chunks(compile_format(file), [best.text], prompt=best.lead or None)
    if len(message.tool_calls) != len(best.answer.calls) or message.malformed:
        return file  # it needs the request's tools
    example: dict[str, Any] = {"input": best.text}
    if best.lead.strip() and best.lead not in file.patterns.get("turn", ()):
        example["prompt"] = best.lead
    for key in ("reasoning", "content"):
        if getattr(message, key):
            example[key] = getattr(message, key)
    if message.tool_calls:
        example["calls"] = [{"name": call.name, "arguments": call.arguments} for call in message.tool_calls]
    return FormatFile(to_toml(file, examples=(example,)), file.source)


def _parts(reading: Reading) -> tuple[int, int]:
    answer = reading.answer
    return bool(answer.reasoning) + bool(answer.content) + bool(answer.calls), -len(reading.text)
