"""Writes the new file: the rest of the old one, with patterns in place of its tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from unspool.old_format.tables import load_toml

__all__ = ["rewritten"]

_HEAD = {"name", "models", "aliases", "notes"}
_TABLES = {"detect", "example"}
_WIDTH = 110


def rewritten(text: str, patterns: dict[str, list[str]]) -> str:
    """The old file's name, notes, detection, examples and comments, with the patterns between them."""
    head: list[str] = []  # the part before the patterns
    dropped: list[str] = []  # comments in removed tables
    tables: list[str] = []
    comments: list[str] = []  # they belong to the statement after them
    table = ""
    for statement, key, is_header in _statements(text):
        if not key:
            comments.append(statement)
            continue
        table = key if is_header else table
        if (table or key) in _TABLES:
            (tables if table else head).extend([*comments, statement])
        elif not table and key in _HEAD:
            head.extend([*comments, statement])
        else:
            dropped.extend(line for line in comments if line.strip())
        comments = []
    (tables if table in _TABLES else dropped).extend(line for line in comments if line.strip())
    written = [*dropped, *_aligned_keys(patterns)]
    blocks = ["\n".join(block).strip("\n") for block in (head, written, tables)]
    return "\n\n".join(block for block in blocks if block) + "\n"


# The tokens that decide whether a line break ends a statement.
_TOKEN = re.compile(
    r'''
    """(?:\\.|[^\\])*?"{3,5}(?!") | \'\'\'.*?\'{3,5}(?!\') | "(?:\\.|[^"\\])*" | \'[^\']*\'
    | \#[^\n]* | [\[{] | [\]}] | \n
    ''',
    re.DOTALL | re.VERBOSE,
)


def _statements(text: str) -> Iterator[tuple[str, str, bool]]:
    """Each key with its value, each table's header, and each other line; with the key, and whether it is a
    header."""
    begin = depth = 0
    for token in _TOKEN.finditer(text.rstrip("\n") + "\n"):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if token[0] != "\n" or depth > 0:
            continue
        statement = text[begin : token.start()]
        yield statement, next(iter(load_toml(statement, "")), ""), statement.lstrip().startswith("[")
        begin = token.end()


def _aligned_keys(patterns: dict[str, list[str]]) -> list[str]:
    written = {key: texts for key, texts in patterns.items() if texts}
    width = max(map(len, written), default=0)
    return [f"{key:{width}} = {_value(texts, width)}" for key, texts in written.items()]


def _value(texts: list[str], width: int) -> str:
    quoted = [_quoted(text) for text in texts]
    if len(quoted) == 1:
        return quoted[0]
    line = f"[{', '.join(quoted)}]"
    return line if width + 3 + len(line) <= _WIDTH else "".join(["[\n", *(f"  {q},\n" for q in quoted), "]"])


def _quoted(text: str) -> str:
    """A TOML string. In single quotes the notation also reads \\n as a line break."""
    is_plain = all(letter >= " " and letter != "\x7f" for letter in text.replace("\n", ""))
    if '"' in text and "'" not in text and "\\" not in text and is_plain:
        return "'" + text.replace("\n", "\\n") + "'"
    return '"' + "".join(_escaped(letter) for letter in text) + '"'


def _escaped(letter: str) -> str:
    short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if letter in short:
        return short[letter]
    return letter if letter >= " " and letter != "\x7f" else f"\\u{ord(letter):04x}"
