"""A format's file: TOML that says what a model writes, with holes. The core reads and checks it."""

from __future__ import annotations

import functools
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unspool._core import read_format_file
from unspool.errors import FormatError

if TYPE_CHECKING:
    from unspool.format_facts import FormatFacts

__all__ = ["FormatFile", "parse_format", "read_format", "read_text"]

#: The keys whose values are patterns.
PATTERN_KEYS = (
    "turn", "reasoning", "content", "calls", "call", "parameter", "object", "string", "header", "id", "end",
)  # fmt: skip


@dataclass(frozen=True)
class FormatFile:
    """One format as its file says it.

    Attributes:
        patterns: What the model writes, with holes: the alternatives of each key.
        examples: Inputs with what they parse to.
        example_lines: The line of each example in the file.
        detect: What shows that a model writes it; `unspool.detect` reads it.
    """

    name: str
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

    @functools.cached_property
    def facts(self) -> FormatFacts:
        """What the parser understands of the patterns.

        Raises:
            FormatError: They cannot be compiled.
        """
        from unspool.format_facts import FormatFacts  # few need it; the package's import stays light

        return FormatFacts.read(self.to_core())

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
        models=tuple(data.get("models", ())),
        aliases=tuple(data.get("aliases", ())),
        notes=data.get("notes", "").strip(),
        examples=tuple(data.get("example", ())),
        patterns={key: tuple(_as_list(data[key])) for key in PATTERN_KEYS if key in data},
        detect=data.get("detect", {}),
        source=source,
        example_lines=tuple(read["example_lines"]),
    )


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
