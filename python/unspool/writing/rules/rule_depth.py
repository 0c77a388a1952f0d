"""Limits how deep the rules of a grammar refer to one another: engines compile by recursion, on the caller's stack."""

from __future__ import annotations

from collections.abc import Iterator

from unspool.errors import ArgumentError
from unspool.writing.rules.nodes import Choice, Node, Reference, Repeat, Rules, Sequence

__all__ = ["check_depth"]

#: llguidance needs about 3 KiB of stack for each level.
MAX_DEPTH = 1_000


def check_depth(rules: Rules) -> None:
    """Raise ArgumentError if an engine that compiles the rules from `start` would recurse too deeply."""
    waiting, seen = [("start", 1)], set[str]()
    while waiting:
        name, depth = waiting.pop()
        if name in seen:
            continue
        if depth > MAX_DEPTH:
            raise ArgumentError("the schemas lead to one another too deeply; simplify them")
        seen.add(name)
        waiting += [(other, depth + 1) for other in reversed(list(_references(rules.named[name])))]


def _references(node: Node) -> Iterator[str]:
    if isinstance(node, Reference):
        yield node.name
    elif isinstance(node, (Sequence, Choice)):
        for part in node.parts:
            yield from _references(part)
    elif isinstance(node, Repeat):
        yield from _references(node.part)
