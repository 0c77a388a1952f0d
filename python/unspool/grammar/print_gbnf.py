"""Prints a grammar as GBNF, which llama.cpp reads."""

from __future__ import annotations

import re

from unspool.grammar.character_sets import LAST, characters, excluding, in_set, within
from unspool.grammar.nodes import (
    Chars,
    Choice,
    Literal,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
    Terminal,
    Token,
)
from unspool.grammar.print_pattern import times

__all__ = ["print_gbnf"]


def print_gbnf(rules: Rules) -> str:
    """The grammar as text; the rule `start` becomes `root`.

    Raises:
        ValueError: A node has no form in GBNF.
    """
    names = _names(rules)
    ordered = sorted(rules.items(), key=lambda rule: rule[0] != "start")
    return "".join(f"{names[name]} ::= {_print(node, names, 0)}\n" for name, node in ordered)


def _names(rules: Rules) -> dict[str, str]:
    """A name of letters, digits and hyphens for each rule."""
    names = {"start": "root"}
    taken = {"root"}
    for name in rules.named:
        if name == "start":
            continue
        stem = re.sub("[^A-Za-z0-9]", "-", name)
        stem = stem if stem[:1].isalpha() else f"rule-{stem}"
        made, count = stem, 1
        while made in taken:
            count += 1
            made = f"{stem}-{count}"
        taken.add(made)
        names[name] = made
    return names


def _print(node: Node, names: dict[str, str], depth: int) -> str:
    """A node as an expression; at depth 0 nothing needs brackets, at 1 a choice does, at 2 a sequence too."""
    if isinstance(node, Literal):
        return '"' + "".join(_character(char, _QUOTED) for char in node.text) + '"'
    if isinstance(node, Token):
        return f"<[{node.id}]>"
    if isinstance(node, Reference):
        return names[node.name]
    if isinstance(node, Chars):
        return _characters(node)
    if isinstance(node, Terminal):
        return _print(node.part, names, depth)
    if isinstance(node, Repeat):
        return _repeat(node, names)
    if isinstance(node, Choice):
        text = " | ".join(_print(part, names, 1) for part in node.parts)
        return f"({text})" if depth else text
    if isinstance(node, Sequence):
        text = " ".join(_print(part, names, 1) for part in node.parts) or '""'
        return f"({text})" if depth > 1 and len(node.parts) > 1 else text
    raise ValueError(f"GBNF has no form for {node!r}")


def _repeat(node: Repeat, names: dict[str, str]) -> str:
    """A repetition; of a repetition that may be left out, one suffix."""
    part = node.part.part if isinstance(node.part, Terminal) else node.part
    if not isinstance(part, Repeat):
        return _print(part, names, 2) + times(node)
    if (node.least, node.most) == (0, 1) and part.least <= 1:
        return _repeat(Repeat(part.part, 0, part.most), names)
    return f"({_repeat(part, names)}){times(node)}"


def _characters(found: Chars) -> str:
    is_negated = found.negated
    if not is_negated and found.ranges[-1][1] == LAST:
        found, is_negated = excluding(found), True
    ranges = "".join(
        _character(first, _IN_CLASS) + (f"-{_character(last, _IN_CLASS)}" if last > first else "")
        for first, last in _without_hyphen(found)
        if not "\ud800" <= first <= "\udfff"  # no text holds them
    )
    # At the end of a class, all readers take a hyphen for itself; xgrammar takes no escape for it.
    hyphen = "-" if in_set("-", found) else ""
    return f"[{'^' if is_negated else ''}{ranges}{hyphen}]" if ranges or hyphen else r"[^\x00]"


def _without_hyphen(found: Chars) -> tuple[tuple[str, str], ...]:
    return within(found, excluding(characters("-"))).ranges


_QUOTED = {'"': '\\"', "\\": "\\\\"}
_IN_CLASS = {"[": "\\[", "]": "\\]", "\\": "\\\\", "^": "\\x5E"}
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _character(char: str, special: dict[str, str]) -> str:
    if char < " " or char == "\x7f":
        return _SHORT.get(char, f"\\x{ord(char):02X}")
    return special.get(char, char)
