"""The result types: a grammar, and the schema keywords that it does not enforce."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from unspool.core.short_repr import short_fields
from unspool.errors import ArgumentError

__all__ = ["Dropped", "Grammar", "Syntax", "WhiteSpace", "check_white_space"]

Syntax = Literal["lark", "structural_tag", "gbnf"]
#: White space in values: only a space after a comma or a colon; a bounded amount; or any amount.
WhiteSpace = Literal["compact", "bounded", "any"]


def check_white_space(value: str) -> None:
    """Raise ArgumentError if the value is not one of `WhiteSpace`."""
    if value not in get_args(WhiteSpace):
        raise ArgumentError(
            f"white_space is {value!r}; use one of {', '.join(map(repr, get_args(WhiteSpace)))}"
        )


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

    def __repr__(self) -> str:
        return short_fields(self, ("syntax", "text", "dropped"))
