"""Text that excludes some words, as an automaton and as a regular expression without look-around.

The expression is derived from the automaton: its states are eliminated one by one, until one expression is left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from unspool.writing.rules.nodes import (
    EMPTY,
    Automaton,
    Chars,
    Choice,
    Node,
    Sequence,
    choice,
    sequence,
    star,
)

__all__ = ["First", "Rule", "Start", "State", "Step", "Words", "eliminate", "free_text"]

State = tuple[object, ...]
_BLANKS = " \t\r"


class Rule:
    """A constraint on text: an automaton whose state None means a violation.

    Attributes:
        letters: The characters that it distinguishes.
        start: The state at the beginning of the text.
        key: A value that is equal for rules with the same effect.
    """

    letters: frozenset[str]
    start: object
    key: tuple[object, ...]

    def step(self, state: object, char: str | None) -> object | None:
        """Return the state after a character; None as `char`: any character that is not in `letters`."""
        raise NotImplementedError

    def admits(self, text: str) -> bool:
        """Whether a text satisfies the rule."""
        state: object | None = self.start
        for char in text:
            state = self.step(state, char if char in self.letters else None)
            if state is None:
                return False
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rule) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Words(Rule):
    """None of these words occurs in the text."""

    def __init__(self, words: Iterable[str]) -> None:
        found = sorted({word for word in words if word})
        self.words = tuple(word for word in found if not any(o != word and o in word for o in found))
        self.key = ("words", *self.words)
        self.letters = frozenset("".join(self.words))
        self.start = ""
        self._prefixes = {word[:size] for word in self.words for size in range(len(word))}

    def step(self, state: object, char: str | None) -> object | None:
        if char is None:
            return ""
        text = str(state) + char
        if any(text.endswith(word) for word in self.words):
            return None
        return next(text[i:] for i in range(len(text) + 1) if text[i:] in self._prefixes or i == len(text))


class Start(Rule):
    """The text (with `every_line`, each line of it) does not begin with optional white space and one of these
    words."""

    def __init__(self, words: Iterable[str], every_line: bool = False) -> None:
        self.words = frozenset(words)
        self.key = ("start", every_line, *sorted(self.words))
        self._prefixes = {word[:size] for word in self.words for size in range(len(word))}
        self.every_line = every_line
        self.letters = frozenset("".join(self.words)) | frozenset(_BLANKS + "\n")
        self.start = ""

    def step(self, state: object, char: str | None) -> object | None:
        if char == "\n" and (self.every_line or state == ""):
            return ""
        if not isinstance(state, str):
            return state
        if state == "" and char is not None and char in _BLANKS:
            return ""
        text = state + (char or "\0")
        if any(text.startswith(word) for word in self.words):
            return None
        return text if text in self._prefixes else 0


class First(Rule):
    """The text does not begin with one of these characters."""

    def __init__(self, chars: str) -> None:
        self.letters = frozenset(chars)
        self.key = ("first", *sorted(chars))
        self.start = True

    def step(self, state: object, char: str | None) -> object | None:
        return None if state and char in self.letters else False


@dataclass(frozen=True)
class Step:
    target: State
    label: Node


@lru_cache(maxsize=4096)
def free_text(*rules: Rule, without: str = "", other: Node | None = None, least: int = 0) -> Automaton:
    """Any text that satisfies all rules.

    Args:
        without: Characters that must not occur.
        other: An additional item that may occur, such as an escape; the rules ignore it.
        least: 1: the text is not empty.
    """
    banned = frozenset(without)
    letters = frozenset().union(*(rule.letters for rule in rules)) | banned
    start = tuple(rule.start for rule in rules)
    edges = _explore(rules, start, letters, banned, other)
    if least == 0:
        return Automaton(eliminate(edges, start), _states(edges, letters, 0))
    whole = choice(*(sequence(edge.label, _from(edges, edge.target)) for edge in edges[start]))
    first = (False, tuple((edge.label, list(edges).index(edge.target) + 1) for edge in edges[start]))
    return Automaton(whole, (first, *_states(edges, letters, 1)))


def _states(edges: dict[State, list[Step]], letters: frozenset[str], first: int) -> tuple[Any, ...]:
    """The states of an automaton, numbered from `first`; text may end in each of them."""
    numbers = {state: number for number, state in enumerate(edges, first)}
    return tuple(
        (True, tuple((label, numbers[edge.target]) for edge in out for label in _split(edge.label, letters)))
        for out in edges.values()
    )


def _split(label: Node, letters: frozenset[str]) -> list[Node]:
    """Split a label into the letters in it, and the rest, which has the same effect in all states."""
    chars, *other = label.parts if isinstance(label, Choice) else (label,)
    assert isinstance(chars, Chars)
    if not chars.negated:
        return [label]
    own = letters.difference(char for char, _ in chars.ranges)
    rest = choice(Chars.of(letters, negated=True), *other)
    return [Chars.of(own), rest] if own else [rest]


def _from(edges: dict[State, list[Step]], state: State) -> Node:
    order = [state, *(other for other in edges if other != state)]
    return eliminate({key: edges[key] for key in order}, state)


def _explore(
    rules: tuple[Rule, ...], start: State, letters: frozenset[str], banned: frozenset[str], other: Node | None
) -> dict[State, list[Step]]:
    edges: dict[State, list[Step]] = {}
    waiting = [start]
    for state in waiting:
        if state in edges:
            continue
        targets: dict[State, list[str]] = {}
        rest = _step(rules, state, None)
        for letter in sorted(letters - banned):
            target = _step(rules, state, letter)
            if target is not None:
                targets.setdefault(target, []).append(letter)
        steps = []
        if rest is not None:
            joined = targets.pop(rest, [])
            label: Node = Chars.of(letters - set(joined), negated=True)
            steps.append(Step(rest, label if other is None else choice(label, other)))
        steps += [Step(target, Chars.of(chars)) for target, chars in targets.items()]
        edges[state] = steps
        waiting += [edge.target for edge in steps]
    return edges


def _step(rules: tuple[Rule, ...], state: State, char: str | None) -> State | None:
    after = tuple(rule.step(one, char) for rule, one in zip(rules, state, strict=True))
    return None if any(one is None for one in after) else after


def eliminate(edges: dict[State, list[Step]], start: State, finals: Collection[State] | None = None) -> Node:
    """Return the expression for all texts from the start to a final state, by Arden's rule.

    The states that were found last are eliminated first.

    Args:
        finals: The final states, at least one of which is reachable; None: all states are final.
    """
    table = {state: {edge.target: edge.label for edge in out} for state, out in edges.items()}
    ends: dict[State, Node] = dict.fromkeys(table if finals is None else finals, EMPTY)
    for state in reversed([state for state in table if state != start]):
        out = table.pop(state)
        loop = out.pop(state, None)
        again = EMPTY if loop is None else star(loop)
        for source, targets in table.items():
            label = targets.pop(state, None)
            if label is None:
                continue
            head = sequence(label, again)
            for target, inner in out.items():
                path = sequence(head, inner)
                targets[target] = choice(targets[target], path) if target in targets else path
            if state in ends:
                end = sequence(head, ends[state])
                ends[source] = _or(ends[source], end) if source in ends else end
    loop = table[start].pop(start, None)
    return ends[start] if loop is None else sequence(star(loop), ends[start])


def _or(first: Node, second: Node) -> Node:
    if first == EMPTY and isinstance(second, (Sequence, Chars, Choice)):
        return Choice((second, EMPTY))
    return choice(first, second)
