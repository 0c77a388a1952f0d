"""Keeps a client's grammar from spelling a marker, if markers are recognized by their spelling."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping

from unspool.core.regular.character_sets import characters, excluding
from unspool.core.regular.match_pattern import Matcher
from unspool.writing.rules.free_text import Rule, Start, State, Step, Words, eliminate
from unspool.writing.rules.nodes import (
    Chars,
    Choice,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
    Terminal,
    choice,
    sequence,
)

__all__ = ["begun", "restricted", "without_words"]

_MAX_STATES = 400
#: Maximum size of a terminal that is narrowed, and maximum number of states of all narrowed terminals.
_MAX_SIZE = 1_000
_MAX_WORK = 4_000
_MAX_PARTS = 50_000


def without_words(part: Node, rules: Rules, words: Collection[str]) -> str | None:
    """Change the rules of a part so that none of its texts contains one of these words.

    Each terminal gets a narrower expression. At first a terminal may end with the beginning of a word; if the next
    terminal can then complete the word, it may not.

    Returns:
        A word that the part can still spell, so that it cannot be used; None: no text of it contains a word.
    """
    wanted = Words(words)
    originals = {name: rules.named[name] for name in _reached(part, rules.named)}
    work = [_MAX_WORK]
    for end in (None, ""):
        word = _spelled(part, rules.named, wanted.words)
        if word is None:
            return None
        narrower = _Narrower(wanted, end, work)
        rules.named.update({name: narrower.of(node) for name, node in originals.items()})
    return _spelled(part, rules.named, wanted.words)


class _Narrower:
    """Narrows the terminals of rules; equal terminals are narrowed once."""

    def __init__(self, words: Words, end: object, work: list[int]) -> None:
        self._words, self._end, self._work = words, end, work
        self._known: dict[Node, Node] = {}

    def of(self, part: Node) -> Node:
        if isinstance(part, Terminal):
            if part not in self._known:
                narrowed = restricted(part.part, self._words, self._end, self._work)
                self._known[part] = part if narrowed is None else Terminal(narrowed)
            return self._known[part]
        if isinstance(part, Repeat):
            return Repeat(self.of(part.part), part.least, part.most)
        if isinstance(part, (Sequence, Choice)):
            return (sequence if isinstance(part, Sequence) else choice)(*map(self.of, part.parts))
        return part


def _reached(part: Node, named: Mapping[str, Node]) -> list[str]:
    """The names of the rules that a part refers to, directly or through other rules."""
    names: dict[str, None] = {}
    waiting = [part]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Reference):
            if node.name not in names:
                names[node.name] = None
                waiting.append(named[node.name])
        elif isinstance(node, (Sequence, Choice)):
            waiting += node.parts
        elif isinstance(node, (Repeat, Terminal)):
            waiting.append(node.part)
    return list(names)


def _spelled(part: Node, named: Mapping[str, Node], words: Iterable[str]) -> str | None:
    """Return a word that a text of the part may contain; None: there is none.

    The check is conservative: a rule is assumed to return to any place that refers to it. So it may return a word that
    no text contains, but it never misses one.
    """
    automaton = _Automaton(part, named)
    return next((word for word in words if automaton.holds(word)), None)


def begun(part: Node, named: Mapping[str, Node], start: Start) -> str | None:
    """Return a forbidden beginning that a text of the part may have; None: there is none. See `_spelled`."""
    automaton = _Automaton(part, named)
    lines = [f"\n{word}" for word in start.words] if start.every_line else []
    return next((word for word in start.words if automaton.begins(word)), None) or _spelled(
        part, named, lines
    )


class _Automaton(Matcher):
    def __init__(self, part: Node, named: Mapping[str, Node]) -> None:
        self._ways: dict[str, tuple[int, int]] = {}
        self._waiting: list[str] = []
        super().__init__(part)
        while self._waiting:
            name = self._waiting.pop()
            entry, end = self._ways[name]
            self._next[entry].append(self._build(named[name], end))

    def _build(self, part: Node, then: int) -> int:
        if isinstance(part, Terminal):
            return self._build(part.part, then)
        if isinstance(part, Chars) and part.negated:
            return super()._build(excluding(characters(*part.ranges)), then)
        if not isinstance(part, Reference):
            return super()._build(part, then)
        if part.name not in self._ways:
            self._ways[part.name] = (self._state(None), self._state(None))
            self._waiting.append(part.name)
        entry, end = self._ways[part.name]
        self._next[end].append(then)
        return entry

    def holds(self, word: str) -> bool:
        """Whether the word may occur anywhere."""
        return self._goes_on(range(self.size), word)

    def begins(self, word: str) -> bool:
        """Whether the word may occur at the beginning, or after white space at the beginning."""
        states, found = set[int](), self._closure([self._start])
        while not found <= states:
            states |= found
            found = self._closure([one for char in " \t\r\n" for one in self._after(found, char)])
        return self._goes_on(states, word)

    def _goes_on(self, states: Iterable[int], word: str) -> bool:
        for char in word:
            states = self._closure(self._after(states, char))
        return bool(states)

    def _after(self, states: Iterable[int], char: str) -> list[int]:
        return [self._next[state][0] for state in states if self._reads(state, char)]

    def steps(self, states: Collection[int]) -> list[tuple[str, str]]:
        """The ranges of characters between which these states do not distinguish."""
        found = [one for state in states for one in self._ranges[state] or ()]
        edges = sorted({ord(first) for first, _ in found} | {ord(last) + 1 for _, last in found})
        return [(chr(first), chr(last - 1)) for first, last in itertools.pairwise(edges)]


def restricted(part: Node, rule: Rule, end: object = None, work: list[int] | None = None) -> Node | None:
    """Return an expression for the texts that also satisfy a rule; None: there are none, or it is too large.

    Args:
        end: The state in which the rule must end; None: any state.
        work: The number of states that may still be visited, as a list of one; it is counted down.
    """
    automaton = _Automaton(part, {})
    start: State = (frozenset(automaton._closure([automaton._start])), rule.start)
    if automaton.size > _MAX_SIZE:
        return None
    work = work or [_MAX_STATES]
    edges: dict[State, list[Step]] = {}
    waiting = [start]
    while waiting:
        state = waiting.pop(0)
        if state in edges:
            continue
        work[0] -= 1
        if len(edges) == _MAX_STATES or work[0] < 0:
            return None
        targets: dict[State, list[tuple[str, str]]] = {}
        for first, last in _split(automaton.steps(state[0]), rule.letters):  # type: ignore[arg-type]
            after = automaton._after(state[0], first)  # type: ignore[arg-type]
            held = rule.step(state[1], first if first in rule.letters else None)
            if after and held is not None:
                targets.setdefault((frozenset(automaton._closure(after)), held), []).append((first, last))
        edges[state] = [Step(target, Chars(tuple(ranges))) for target, ranges in targets.items()]
        waiting += targets
    finals = {state for state in edges if automaton._end in state[0] and end in (None, state[1])}  # type: ignore[operator]
    if not finals:
        return None
    expression = eliminate(_leading_to(finals, edges), start, finals)
    return None if _size(expression) > _MAX_PARTS else expression


def _split(ranges: list[tuple[str, str]], letters: Iterable[str]) -> list[tuple[str, str]]:
    """Split ranges so that each letter is a range of its own."""
    for letter in letters:
        ranges = [
            piece
            for first, last in ranges
            for piece in (
                [(first, last)]
                if not first <= letter <= last
                else [(first, chr(ord(letter) - 1)), (letter, letter), (chr(ord(letter) + 1), last)]
            )
            if piece[0] <= piece[1]
        ]
    return ranges


def _leading_to(finals: set[State], edges: dict[State, list[Step]]) -> dict[State, list[Step]]:
    """The states from which a final state can be reached."""
    useful = set(finals)
    while more := {s for s, out in edges.items() if s not in useful and any(e.target in useful for e in out)}:
        useful |= more
    return {
        state: [edge for edge in out if edge.target in useful]
        for state, out in edges.items()
        if state in useful
    }


def _size(part: Node) -> int:
    """The number of parts that are printed; a repeated part counts each time."""
    sizes: dict[int, int] = {}

    def size(node: Node) -> int:
        if id(node) not in sizes:
            inner = (
                node.parts
                if isinstance(node, (Sequence, Choice))
                else [node.part]
                if isinstance(node, Repeat)
                else ()
            )
            sizes[id(node)] = 1 + sum(map(size, inner))
        return sizes[id(node)]

    return size(part)
