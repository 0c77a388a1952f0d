"""Rules for members and items in their order, some of them optional, and for members in any order.

Each range of members is halved until it has one, so the rules for n members are no deeper than log n. Engines compile a
grammar by recursion: a chain of a few thousand rules would crash their process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unspool.writing.rules.nodes import EMPTY, Node, Rules, choice, optional, sequence

__all__ = ["MAX_IN_ANY_ORDER", "any_prefix", "in_order"]

#: Maximum number of members in one rule; xgrammar's time grows with its square.
_MAX_ROW = 64

#: Maximum number of members that may come in any order: each set of remaining members needs a rule.
MAX_IN_ANY_ORDER = 6


def in_order(rules: Rules, members: Sequence[tuple[Node, bool]], comma: Node, least: int = 0) -> Node:
    """The members, separated by commas, in this order, or in any order if the rules allow it and there are few.

    Args:
        members: Each member, with whether it is required.
        least: 0: there may be no member at all, if none is required.
    """
    if not members:
        return EMPTY
    if rules.any_order and 1 < len(members) <= MAX_IN_ANY_ORDER:
        return _in_any_order(rules, members, comma, least)
    node, is_required = _some(rules, members, comma)
    return node if is_required or least else optional(node)


def _in_any_order(rules: Rules, members: Sequence[tuple[Node, bool]], comma: Node, least: int) -> Node:
    rules.spend(2 ** len(members))
    nodes = [rules.add("member", member) for member, _ in members]
    known: dict[frozenset[int], Node] = {frozenset(): EMPTY}

    def rest(left: frozenset[int]) -> Node:
        """What may follow while these members remain."""
        if left not in known:
            more = [sequence(comma, nodes[index], rest(left - {index})) for index in sorted(left)]
            may_end = not any(members[index][1] for index in left)
            known[left] = rules.add("members", optional(choice(*more)) if may_end else choice(*more))
        return known[left]

    whole = frozenset(range(len(members)))
    node = choice(*(sequence(nodes[index], rest(whole - {index})) for index in sorted(whole)))
    return node if least or any(is_required for _, is_required in members) else optional(node)


def _some(rules: Rules, members: Sequence[tuple[Node, bool]], comma: Node) -> tuple[Node, bool]:
    """Return a node for one or more of the members, and whether one of them is required."""
    if len(members) <= _MAX_ROW and all(is_required for _, is_required in members):
        return sequence(*_joined([member for member, _ in members], comma)), True
    if len(members) == 1:
        return members[0]
    middle = len(members) // 2
    left, needs_left = _some(rules, members[:middle], comma)
    right, needs_right = _some(rules, members[middle:], comma)
    if needs_left and needs_right:
        return sequence(rules.add("members", left), comma, rules.add("members", right)), True
    if needs_right:
        return sequence(optional(sequence(left, comma)), right), True
    right = rules.add("members", right)
    both = sequence(left, optional(sequence(comma, right)))
    return (both, True) if needs_left else (choice(both, right), False)


def _joined(members: Sequence[Node], comma: Node) -> Iterator[Node]:
    for index, member in enumerate(members):
        if index:
            yield comma
        yield member


def any_prefix(rules: Rules, items: Sequence[Node], comma: Node, tail: Node) -> Node:
    """Nothing, any number of the first items, or all items and the tail; a comma comes before each item."""
    if not items:
        return tail
    shorter, whole = _prefixes(rules, items, comma)
    return choice(EMPTY, *shorter, sequence(whole, tail))


def _prefixes(rules: Rules, items: Sequence[Node], comma: Node) -> tuple[list[Node], Node]:
    """Return a node for the first items, at least one and not all, and a node for all items."""
    if len(items) == 1:
        return [], sequence(comma, items[0])
    middle = len(items) // 2
    shorter, left = _prefixes(rules, items[:middle], comma)
    left = rules.add("items", left)
    longer, right = _prefixes(rules, items[middle:], comma)
    begun = [left, *([sequence(left, rules.add("items", choice(*longer)))] if longer else [])]
    return [*shorter, *begun], sequence(left, right)
