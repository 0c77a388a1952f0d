"""The multiples of a number, as an automaton over digits whose states are remainders."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from unspool.core.regular.character_sets import characters
from unspool.core.schema.schema import Bound, Number
from unspool.writing.rules.nodes import EMPTY, Automaton, Chars, Literal, Node, choice, optional, sequence

__all__ = ["multiples", "multiples_between"]

#: Maximum number of listed values, and of remainders that the automaton distinguishes.
MAX_LISTED = 200
MAX_REMAINDERS = 60
#: Maximum number of digits in a multiple, because clients read doubles.
MAX_DIGITS = 15

#: The remainder so far, the number of digits that may still come before the point, and the number of digits after the
#: point (None: the point has not come).
_State = tuple[int, int, int | None]


def multiples_between(
    step: Decimal, lowest: Bound | None, highest: Bound | None, is_integer: bool
) -> list[Any] | None:
    """List the multiples between a lower and an upper bound; None: a bound is missing, or there are too many."""
    if lowest is None or highest is None:
        return None
    low, high = Decimal(repr(lowest.number)), Decimal(repr(highest.number))
    first, last = math.ceil(low / step), math.floor(high / step)
    if last - first >= MAX_LISTED:
        return None
    values = [number * step for number in range(first, last + 1)]
    left = [
        value for value in values if (lowest.belongs or value != low) and (highest.belongs or value != high)
    ]
    return [int(value) if is_integer or value == int(value) else float(value) for value in left]


def multiples(schema: Number) -> Node | None:
    """The multiples of a schema's step; None: the automaton is too large, or there are other bounds than 0."""
    step = Decimal(repr(schema.step)).normalize()
    places = max(-int(step.as_tuple().exponent), 0)
    zeros = max(int(step.as_tuple().exponent), 0)
    size = int(step.scaleb(places - zeros))
    signs = _signs(schema, step)
    if signs is None or size > MAX_REMAINDERS or places > 6 or zeros > 6:
        return None
    sign, has_zero = signs
    if zeros or not has_zero:
        if places:
            return None
        filled = _automaton(size, 0, MAX_DIGITS - zeros, (), "0" * zeros)
        return sequence(sign, choice(Literal("0"), filled) if has_zero else filled)
    return sequence(sign, _automaton(size, places, MAX_DIGITS - places, ("0",), ""))


def _signs(schema: Number, step: Decimal) -> tuple[Node, bool] | None:
    """Return the sign of the numbers, and whether 0 is one of them; None: there are other bounds than 0."""
    if schema.highest is not None:
        return None
    if schema.lowest is None:
        return optional(Literal("-")), True
    low = Decimal(repr(schema.lowest.number))
    first = math.ceil(low / step)
    if not schema.lowest.belongs and first * step == low:
        first += 1
    return (EMPTY, first == 0) if first in (0, 1) else None


def _automaton(size: int, places: int, digits: int, zero: tuple[str, ...], closer: str) -> Automaton:
    """Build an automaton with the least number of states: from the last to the first, and equal states only once."""
    numbers: dict[tuple[bool, tuple[tuple[Chars, int], ...]], int] = {}
    known: dict[_State, int | None] = {}

    def number(state: _State) -> int | None:
        """Return the number of a state, counted from the last; None: no multiple can be reached from it."""
        if state not in known:
            edges: dict[int, list[str]] = {}
            for char, further in _steps(state, size, places, zero):
                target = number(further)
                if target is not None:
                    edges.setdefault(target, []).append(char)
            key = (_is_multiple(state, size, places), tuple((characters(*edges[to]), to) for to in edges))
            known[state] = numbers.setdefault(key, len(numbers)) if any(key) else None
        return known[state]

    number((-1, digits, None))
    last = len(numbers) - 1
    states = [
        (may_end, tuple((chars, last - to) for chars, to in edges)) for may_end, edges in reversed(numbers)
    ]
    return Automaton(None, tuple(states), closer)


def _steps(state: _State, size: int, places: int, zero: tuple[str, ...]) -> Iterator[tuple[str, _State]]:
    remainder, left, place = state
    if remainder < 0:
        yield from ((char, (0, 0, None)) for char in zero)
        yield from ((char, (int(char) % size, left - 1, None)) for char in "123456789")
        return
    if place is None and places:
        yield ".", (remainder, 0, 0)
    if (left if place is None else places - place) > 0:
        for char in "0123456789":
            further = (remainder * 10 + int(char)) % size
            yield char, ((further, left - 1, None) if place is None else (further, 0, place + 1))


def _is_multiple(state: _State, size: int, places: int) -> bool:
    """Whether the number may end here."""
    remainder, _, place = state
    return remainder >= 0 and place != 0 and remainder * 10 ** (places - (place or 0)) % size == 0
