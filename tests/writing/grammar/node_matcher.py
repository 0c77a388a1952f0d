"""Whether a grammar's nodes describe a text: slow, simple, and independent of every matcher."""

from __future__ import annotations

from unspool.writing.rules.nodes import (
    Automaton,
    Chars,
    Choice,
    Literal,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
    Terminal,
)

__all__ = ["describes"]


def describes(rules: Rules, text: str) -> bool:
    """Whether the rule `start` describes the whole text."""
    return len(text) in _Ends(rules, text).of(rules.named["start"], 0)


class _Ends:
    def __init__(self, rules: Rules, text: str) -> None:
        self.rules, self.text = rules, text
        self.known: dict[tuple[int, int], frozenset[int]] = {}
        self.nodes: list[Node] = []  # kept alive: `known` goes by identity

    def of(self, node: Node, at: int) -> frozenset[int]:
        """Where the node may end if it begins here."""
        key = (id(node), at)
        if key not in self.known:
            self.nodes.append(node)
            self.known[key] = self._of(node, at)
        return self.known[key]

    def _of(self, node: Node, at: int) -> frozenset[int]:
        if isinstance(node, Literal):
            return frozenset([at + len(node.text)] if self.text.startswith(node.text, at) else [])
        if isinstance(node, Chars):
            char = self.text[at : at + 1]
            is_in = any(first <= char <= last for first, last in node.ranges)
            return frozenset([at + 1] if char and is_in != node.negated else [])
        if isinstance(node, Reference):
            return self.of(self.rules.named[node.name], at)
        if isinstance(node, (Automaton, Terminal)):
            return self.of(node.part, at)
        if isinstance(node, Choice):
            return frozenset().union(*(self.of(part, at) for part in node.parts))
        if isinstance(node, Sequence):
            ends = frozenset([at])
            for part in node.parts:
                ends = frozenset().union(*(self.of(part, end) for end in ends))
            return ends
        assert isinstance(node, Repeat)
        ends, found, count = frozenset([at]), set[int](), 0
        while ends:
            if count >= node.least:
                if ends <= found:
                    break
                found |= ends
            if count == node.most:
                break
            ends = frozenset().union(*(self.of(node.part, end) for end in ends))
            count += 1
        return frozenset(found)
