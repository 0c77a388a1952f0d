"""Members in a fixed order, some of them optional."""

from __future__ import annotations

from unspool.writing.grammar.nodes import EMPTY, Node, Rules, choice, optional, sequence

__all__ = ["in_order"]


def in_order(rules: Rules, members: list[tuple[Node, bool]], comma: Node) -> Node:
    """The members in order, each with whether it is required; commas separate them."""
    # `first` accepts the members from here on at the beginning, `rest` the same after a member.
    first: Node = EMPTY
    rest: Node = EMPTY
    for part, is_required in reversed(members):
        later = rules.add("members", rest) if rest != EMPTY else rest
        here = sequence(part, later)
        if is_required:
            first, rest = here, sequence(comma, here)
        else:
            first = choice(here, first) if first != EMPTY else optional(here)
            rest = sequence(optional(sequence(comma, part)), later)
    return first
