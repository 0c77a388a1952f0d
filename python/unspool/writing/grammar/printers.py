"""Prints a grammar in each syntax."""

from __future__ import annotations

from collections.abc import Callable

from unspool.writing.grammar.gbnf import to_gbnf
from unspool.writing.grammar.lark import to_lark
from unspool.writing.grammar.nodes import Rules
from unspool.writing.grammar.structural_tag import to_structural_tag

__all__ = ["PRINTERS"]

PRINTERS: dict[str, Callable[[Rules], str]] = {
    "lark": to_lark,
    "structural_tag": to_structural_tag,
    "gbnf": to_gbnf,
}
