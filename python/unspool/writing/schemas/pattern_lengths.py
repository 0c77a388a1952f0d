"""The lengths of the texts that an expression matches."""

from __future__ import annotations

from unspool.writing.rules.nodes import Choice, Literal, Node, Repeat, Sequence

__all__ = ["lengths", "most_counted"]


def lengths(found: Node) -> tuple[int, int | None]:
    """Return the minimum and maximum number of characters; None as maximum: no limit."""
    if isinstance(found, Literal):
        return len(found.text), len(found.text)
    if isinstance(found, Repeat):
        least, most = lengths(found.part)
        is_endless = most != 0 and None in (most, found.most)
        return found.least * least, None if is_endless else (most or 0) * (found.most or 0)
    if isinstance(found, (Sequence, Choice)):
        each = [lengths(part) for part in found.parts]
        is_sequence = isinstance(found, Sequence)
        least = sum(one for one, _ in each) if is_sequence else min(one for one, _ in each)
        greatest = [most for _, most in each if most is not None]
        if len(greatest) < len(each):
            return least, None
        return least, sum(greatest) if is_sequence else max(greatest)
    return 1, 1


def most_counted(found: Node) -> int:
    """Return the largest number of repetitions that the expression counts."""
    if isinstance(found, Repeat):
        return max(found.least, found.most or 0, most_counted(found.part))
    parts = found.parts if isinstance(found, (Sequence, Choice)) else ()
    return max(map(most_counted, parts), default=0)
