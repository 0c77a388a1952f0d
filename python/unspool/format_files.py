"""A format's file: TOML that says what a model writes, with holes. The core reads and checks it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unspool._core import read_format_file
from unspool.errors import FormatError

__all__ = ["FormatFile", "marker_tokens", "markers_of", "parse_format", "read_format", "read_text"]

#: The keys whose values are patterns.
PATTERN_KEYS = (
    "turn", "reasoning", "content", "calls", "call", "parameter", "object", "string", "header", "id", "end",
)  # fmt: skip


@dataclass(frozen=True)
class FormatFile:
    """One format as its file says it.

    Attributes:
        patterns: What the model writes, with holes: the alternatives of each key.
        description: What the parser makes of the patterns.
        examples: Inputs with what they parse to.
        example_lines: The line of each example in the file.
        detect: What shows that a model writes it; `unspool.detect` reads it.
    """

    name: str
    description: dict[str, Any]
    models: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    notes: str = ""
    examples: tuple[dict[str, Any], ...] = ()
    patterns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    detect: dict[str, Any] = field(default_factory=dict)
    source: str = field(default="", compare=False)
    example_lines: tuple[int, ...] = field(default=(), compare=False)

    @property
    def has_tools(self) -> bool:
        """Whether it says how calls are written."""
        return "call" in self.patterns

    @property
    def has_reasoning(self) -> bool:
        """Whether it says how reasoning is written."""
        return "reasoning" in self.patterns

    @property
    def is_plain(self) -> bool:
        """Whether everything is content."""
        return not self.has_tools and not self.has_reasoning

    def to_core(self) -> dict[str, Any]:
        """The patterns as the core takes them, the name among them."""
        return {"name": self.name, **self.patterns}


def read_format(path: str | os.PathLike[str]) -> FormatFile:
    """Read one format file.

    Raises:
        FormatError: The file is not TOML, or not a format; the message names line and column.
    """
    return parse_format(read_text(path), source=Path(path).name)


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a format file. Raises FormatError if it is not UTF-8."""
    file = Path(path)
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{file.name}: not UTF-8: {error}") from None


def parse_format(text: str, source: str = "<format>") -> FormatFile:
    """Read one format from its text."""
    read = json.loads(read_format_file(text, source))
    data = read["file"]
    return FormatFile(
        name=data["name"],
        description=read["description"],
        models=tuple(data.get("models", ())),
        aliases=tuple(data.get("aliases", ())),
        notes=data.get("notes", "").strip(),
        examples=tuple(data.get("example", ())),
        patterns={key: tuple(_as_list(data[key])) for key in PATTERN_KEYS if key in data},
        detect=data.get("detect", {}),
        source=source,
        example_lines=tuple(read["example_lines"]),
    )


# The keys of a description whose texts open or close something.
_MARKERS = {
    "open", "close", "name_close", "name_end", "next", "quotes", "ignore", "begins", "id_open",
    "id_close", "json_open", "json_close", "value_open", "label",
}  # fmt: skip


def markers_of(description: Any) -> set[str]:
    """Every text in a description that opens or closes something."""
    if isinstance(description, list):
        return {marker for item in description for marker in markers_of(item)}
    if not isinstance(description, dict):
        return set()
    found: set[str] = set()
    for key, value in description.items():
        if key in _MARKERS:
            found |= set(_as_list(value))
        elif isinstance(value, (dict, list)):
            found |= markers_of(value)
    return found


_TOKEN = re.compile(r"<[^<>\s]+>|\[/?[A-Z_]+\]")


def marker_tokens(description: Any) -> set[str]:
    """The texts that a tokenizer for this format would hold as one token each."""
    found: set[str] = set()
    for marker in markers_of(description):
        parts = _TOKEN.findall(marker)
        is_token = len(marker) > 3 and marker[0] in "<[◁" and not re.search(r"\s", marker)
        found |= set(parts) if parts else {marker} if is_token else set()
    return found


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
