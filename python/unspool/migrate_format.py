"""Converts format files from the old table notation to patterns."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unspool._core import old_facts
from unspool.errors import FormatError
from unspool.format_check import example_faults, sample_faults
from unspool.format_files import FormatFile, parse_format, read_text
from unspool.formats import compile_format
from unspool.old_format.calls import call_patterns
from unspool.old_format.facts import facts_of, stripped
from unspool.old_format.messages import Messages
from unspool.old_format.notes import merged_options, notes_of
from unspool.old_format.rewrite import rewritten
from unspool.old_format.tables import Table, read_tables

__all__ = ["Migration", "migrate_file", "migrate_format"]

_KEYS = (
    "turn", "header", "reasoning", "content", "calls", "call", "parameter", "object", "string", "id", "end",
)  # fmt: skip


@dataclass(frozen=True)
class Migration:
    """A converted file.

    Attributes:
        text: The new file.
        format: The new format; None if it cannot be compiled.
        notes: What only the old or only the new file expresses, one sentence each.
        faults: Why the new file cannot be compiled, or which examples it does not parse.
    """

    text: str
    format: FormatFile | None
    notes: tuple[str, ...]
    faults: tuple[str, ...]


def migrate_file(path: str | os.PathLike[str]) -> Migration:
    """Convert an old file; the file itself is not changed.

    Raises:
        FormatError: See `migrate_format`.
    """
    return migrate_format(read_text(path), Path(path).name)


def migrate_format(text: str, source: str = "<format>") -> Migration:
    """Convert the text of an old file.

    Raises:
            FormatError: The file is not valid TOML, already uses the new notation, or has an unknown key or a
                value of the wrong type.
    """
    text = text.replace("\r\n", "\n")
    tables = read_tables(text, source)
    patterns = _patterns(_escaped(tables))
    try:
        _add_markup(patterns, tables, parse_format(rewritten(text, patterns), source))
        new_text = rewritten(text, patterns)
        made = parse_format(new_text, source)
        compile_format(made)
    except FormatError as error:
        return Migration(rewritten(text, patterns), None, (), (f"the new file is refused: {error}",))
    notes = (
        *notes_of(facts_of(tables), stripped(old_facts(made.to_core()))),
        *merged_options(tables),
        *sample_faults(made, source),
    )
    return Migration(new_text, made, notes, tuple(example_faults(made, source)))


def _escaped(value: Any) -> Any:
    """The tables, with `${` escaped as in patterns."""
    if isinstance(value, dict):
        return {_escaped(key): _escaped(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    return value.replace("${", "$${") if isinstance(value, str) else value


def _patterns(tables: Table) -> dict[str, list[str]]:
    messages = Messages(tables)
    found = {**messages.write(), **call_patterns(tables, messages), "end": messages.ends}
    return {key: list(dict.fromkeys(found.get(key, ()))) for key in _KEYS}


def _add_markup(patterns: dict[str, list[str]], tables: Table, made: FormatFile) -> None:
    """Add the markers that are dropped everywhere, unless a pattern contains them."""
    headers = [text for header in made.facts.headers for text in header.openers]
    known = {*made.facts.dropped, *headers}
    for text, marker in Messages(tables).leftover_markup():
        if text in known:
            continue
        key = next((key for key in ("reasoning", "calls", "call") if _has(patterns[key], text)), "content")
        patterns[key].append(_escaped(marker))


def _has(patterns: list[str], text: str) -> bool:
    return any(_escaped(text) in pattern for pattern in patterns)
