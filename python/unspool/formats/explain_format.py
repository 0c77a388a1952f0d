"""Explains in sentences how the parser reads a format."""

from __future__ import annotations

from typing import Any

from unspool._core import FormatSource
from unspool.writing.render.render import write_text

__all__ = ["SAMPLE_CALL", "SAMPLE_CONTENT", "SAMPLE_REASONING", "SAMPLE_TOOLS", "reading_of", "sample_of"]

SAMPLE_CALL: tuple[str, dict[str, Any]] = ("get_weather", {"city": "Paris"})
#: The tool that the sample calls.
SAMPLE_TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
]
#: The sample's reasoning, if the format has reasoning.
SAMPLE_REASONING = "I think."
#: The sample's content, if the format has no calls.
SAMPLE_CONTENT = "Hello!"


def reading_of(file: FormatSource) -> list[str]:
    """Return the output of `unspool check`: the sentences, and a sample of the model's output."""
    return [*file.sentences, f"A sample: {sample_of(file)!r}"]


def sample_of(file: FormatSource) -> str:
    """Return an answer in the format, with reasoning, content and a call if the format has them."""
    name, arguments = SAMPLE_CALL
    calls = [{"name": name, "arguments": arguments}]
    content = "" if file.has_tools else SAMPLE_CONTENT
    return write_text(file, {"reasoning": SAMPLE_REASONING, "content": content, "tool_calls": calls})
