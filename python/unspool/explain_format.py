"""How the parser reads a format, in sentences: a blank or a bracket in a pattern decides."""

from __future__ import annotations

from typing import Any

from unspool import _core
from unspool.format_files import FormatFile
from unspool.render.render import write_text

__all__ = [
    "SAMPLE_CALL",
    "SAMPLE_CONTENT",
    "SAMPLE_REASONING",
    "SAMPLE_TOOLS",
    "explain_format",
    "reading_of",
    "sample_of",
]

SAMPLE_CALL: tuple[str, dict[str, Any]] = ("get_weather", {"city": "Paris"})
#: The tool that the sample's call is to.
SAMPLE_TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
]
#: The sample's reasoning in a format that has some.
SAMPLE_REASONING = "I think."
#: The sample's content in a format without calls.
SAMPLE_CONTENT = "Hello!"


def explain_format(file: FormatFile) -> list[str]:
    """Sentences that say how the format is read."""
    return _core.explain_format(file.to_core())


def reading_of(file: FormatFile) -> list[str]:
    """What `unspool check` prints: the sentences, and a sample of what the model writes."""
    return [*explain_format(file), f"A sample: {sample_of(file)!r}"]


def sample_of(file: FormatFile) -> str:
    """An answer as the format's model writes it: reasoning, content and a call, as far as it has them."""
    name, arguments = SAMPLE_CALL
    calls = [{"name": name, "arguments": arguments}]
    content = "" if file.has_tools else SAMPLE_CONTENT
    return write_text(file, {"reasoning": SAMPLE_REASONING, "content": content, "tool_calls": calls})
