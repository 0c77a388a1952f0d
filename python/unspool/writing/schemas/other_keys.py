"""All keys except those that a schema names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unspool.core.regular.character_sets import ANY_CHARACTER, ANY_TEXT, characters, excluding
from unspool.writing.rules.nodes import EMPTY, Literal, Node, choice, sequence

__all__ = ["other_keys"]

MAX_LENGTH = 64


def other_keys(names: Iterable[str]) -> Node:
    """All texts except these names, and except texts that begin with the first 64 characters of a longer name."""
    tree: dict[str, Any] = {}
    for name in names:
        branch = tree
        for char in name[:MAX_LENGTH]:
            branch = branch.setdefault(char, {})
        branch[""] = {} if len(name) <= MAX_LENGTH else {"": {}}
    found = _others(tree)
    return ANY_TEXT if found is None else found


def _others(branch: dict[str, Any]) -> Node | None:
    """Texts that leave a branch, or end on it before a name ends; None: every text continues as a long name."""
    if branch.get(""):
        return None
    nexts = sorted(char for char in branch if char)
    away = excluding(characters(*nexts)) if nexts else ANY_CHARACTER
    options = [sequence(away, ANY_TEXT)] if "" in branch else [EMPTY, sequence(away, ANY_TEXT)]
    for char in nexts:
        rest = _others(branch[char])
        if rest is not None:
            options.append(sequence(Literal(char), rest))
    return choice(*options)
