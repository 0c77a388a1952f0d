"""Matches a string against an expression, in time linear in the string.

Schemas come from clients, and Python's `re` can take exponential time for some patterns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unspool.core.regular.expressions import Chars, Choice, Literal, Node, Repeat, Sequence

__all__ = ["Matcher"]


class Matcher:
    """An automaton for an expression without references."""

    def __init__(self, expression: Node) -> None:
        self._ranges: list[tuple[tuple[str, str], ...] | None] = []  # None: the state consumes nothing
        self._next: list[list[int]] = []
        self._end = self._state()
        self._start = self._build(expression, self._end)

    @property
    def size(self) -> int:
        """The number of states: the maximum number of steps for a character."""
        return len(self._next)

    def matches(self, text: str) -> bool:
        """Whether the expression matches the whole text."""
        states = self._closure([self._start])
        for char in text:
            reached = [self._next[state][0] for state in states if self._reads(state, char)]
            if not reached:
                return False
            states = self._closure(reached)
        return self._end in states

    def _state(self, ranges: Any = None, *targets: int) -> int:
        self._ranges.append(ranges)
        self._next.append(list(targets))
        return len(self._next) - 1

    def _build(self, part: Node, then: int) -> int:
        """Build the states of a part that continues in the state `then`; return its start state."""
        if isinstance(part, Chars):
            return self._state(part.ranges, then)
        if isinstance(part, Literal):
            for char in reversed(part.text):
                then = self._state(((char, char),), then)
            return then
        if isinstance(part, Sequence):
            for item in reversed(part.parts):
                then = self._build(item, then)
            return then
        if isinstance(part, Choice):
            return self._state(None, *[self._build(option, then) for option in part.parts])
        if isinstance(part, Repeat):
            return self._repeat(part, then)
        raise ValueError(f"a pattern cannot hold {part!r}")

    def _repeat(self, part: Repeat, then: int) -> int:
        if part.most is None:
            loop = self._state(None, then)
            self._next[loop].append(self._build(part.part, loop))
            then = loop
        else:
            last = then
            for _ in range(part.most - part.least):
                then = self._state(None, last, self._build(part.part, then))
        for _ in range(part.least):
            then = self._build(part.part, then)
        return then

    def _reads(self, state: int, char: str) -> bool:
        ranges = self._ranges[state]
        return ranges is not None and any(first <= char <= last for first, last in ranges)

    def _closure(self, states: Iterable[int]) -> set[int]:
        """The states that can be reached without consuming a character."""
        seen, waiting = set(states), list(states)
        while waiting:
            state = waiting.pop()
            if self._ranges[state] is not None:
                continue
            for target in self._next[state]:
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return seen
