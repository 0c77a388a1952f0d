"""What a grammar is returned as, and what it leaves out of the schemas that it was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Dropped", "Grammar", "Syntax"]

Syntax = Literal["lark", "structural_tag", "gbnf"]


@dataclass(frozen=True)
class Dropped:
    """A keyword of a schema that the grammar does not enforce; `check` looks at the finished value."""

    path: str
    """Where the keyword stands: a JSON pointer into the schema, as in "#/properties/city"."""
    keyword: str
    reason: str


@dataclass(frozen=True)
class Grammar:
    """A grammar in the syntax of one matcher."""

    syntax: Syntax
    text: str
    dropped: tuple[Dropped, ...] = ()
