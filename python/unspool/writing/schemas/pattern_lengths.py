"""The lengths of the texts that an expression matches."""

from __future__ import annotations

from unspool.writing.rules.nodes import Choice, Literal, Node, Repeat, Sequence

__all__ = ["lengths", "most_counted"]


def lengths(node: Node) -> tuple[int, int | None]:
    """Return the minimum and maximum number of characters; None as maximum: no limit."""
    if isinstance(node, Literal):
        return len(node.text), len(node.text)
    if isinstance(node, Repeat):
        least, most = lengths(node.part)
        is_endless = most != 0 and None in (most, node.most)
        return node.least * least, None if is_endless else (most or 0) * (node.most or 0)
    if isinstance(node, (Sequence, Choice)):
        each = [lengths(part) for part in node.parts]
        is_sequence = isinstance(node, Sequence)
        least = (
            sum(shortest for shortest, _ in each) if is_sequence else min(shortest for shortest, _ in each)
        )
        greatest = [most for _, most in each if most is not None]
        if len(greatest) < len(each):
            return least, None
        return least, sum(greatest) if is_sequence else max(greatest)
    return 1, 1


def most_counted(node: Node) -> int:
    """Return the largest number of repetitions that the expression counts."""
    if isinstance(node, Repeat):
        return max(node.least, node.most or 0, most_counted(node.part))
    parts = node.parts if isinstance(node, (Sequence, Choice)) else ()
    return max(map(most_counted, parts), default=0)
