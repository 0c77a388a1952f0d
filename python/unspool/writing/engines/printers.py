"""Prints a grammar in each syntax."""

from __future__ import annotations

from collections.abc import Callable

from unspool.writing.engines.gbnf import to_gbnf
from unspool.writing.engines.lark import to_lark
from unspool.writing.engines.structural_tag import to_structural_tag
from unspool.writing.rules.nodes import Rules

__all__ = ["PRINTERS"]

PRINTERS: dict[str, Callable[[Rules], str]] = {
    "lark": to_lark,
    "structural_tag": to_structural_tag,
    "gbnf": to_gbnf,
}
