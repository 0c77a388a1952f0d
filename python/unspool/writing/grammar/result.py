"""The result types: a grammar, and the schema keywords that it does not enforce."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Dropped", "Grammar", "Syntax"]

Syntax = Literal["lark", "structural_tag", "gbnf"]


@dataclass(frozen=True)
class Dropped:
    """A schema keyword that the grammar does not enforce; use `check` on the finished value."""

    path: str
    """The keyword's place: a JSON pointer into the schema, such as "#/properties/city"."""
    keyword: str
    reason: str


@dataclass(frozen=True)
class Grammar:
    """A grammar in the syntax of one matcher."""

    syntax: Syntax
    text: str
    dropped: tuple[Dropped, ...] = ()
