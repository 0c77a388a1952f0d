"""The nodes of a grammar, before they are printed for an engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from unspool.core.regular.expressions import (
    EMPTY,
    Chars,
    Choice,
    Compound,
    Literal,
    Node,
    Reference,
    Repeat,
    Sequence,
    choice,
    plus,
    sequence,
    star,
)
from unspool.errors import ArgumentError
from unspool.writing.grammar_result import WhiteSpace

__all__ = [
    "EMPTY",
    "GAP",
    "Automaton",
    "Chars",
    "Choice",
    "FreeText",
    "Literal",
    "Node",
    "OtherTokens",
    "Reference",
    "Repeat",
    "Rules",
    "Sequence",
    "Terminal",
    "Token",
    "choice",
    "optional",
    "plus",
    "sequence",
    "star",
]


@dataclass(frozen=True)
class Token(Node):
    """One token of the vocabulary, by its id."""

    id: int
    text: str


@dataclass(frozen=True)
class OtherTokens(Node):
    """Any number of tokens except these: text without markers."""

    excluded: tuple[int, ...]


@dataclass(frozen=True)
class Terminal(Compound):
    """A part that is a regular expression, read by a lexer as one piece.

    Its end must be unambiguous, because a lexer takes the longest match and does not backtrack.
    """

    part: Node

    __hash__ = Compound.__hash__


@dataclass(frozen=True)
class FreeText(Terminal):
    """Text without these words, and its closer; `part` is the equivalent expression.

    xgrammar has a form for such text that is faster than an expression.
    """

    words: tuple[str, ...] = ()
    closer: str = ""

    __hash__ = Compound.__hash__


@dataclass(frozen=True)
class Automaton(Compound):
    """Text and its closer, as states and, if that is short, also as an expression. The first state is the start.

    llguidance is fast with an expression. xgrammar is fast with a rule for each state: it scans the vocabulary at
    each token of an expression that repeats a choice, and of a rule that may end anywhere.

    Attributes:
        part: The expression; None: only the states describe the text.
        states: For each state, whether text may end there, and its edges: (label, number of the next state).
        closer: The text that must follow.
    """

    part: Node | None
    states: tuple[tuple[bool, tuple[tuple[Node, int], ...]], ...]
    closer: str = ""

    __hash__ = Compound.__hash__

    def until(self, closer: str) -> Automaton:
        """The text with its closer."""
        return Automaton(self.part and sequence(self.part, Literal(closer)), self.states, closer)


#: Maximum number of properties, listed values and alternatives in all rules of a grammar.
MAX_WRITTEN = 20_000


@dataclass
class Rules:
    """A grammar: rules by name, including `start`. Rules may be recursive."""

    named: dict[str, Node] = field(default_factory=dict)
    white_space: WhiteSpace = "bounded"
    """The white space that is allowed in values of schemas."""
    any_order: bool = False
    """Whether the members of an object, if they are few, may come in any order."""
    _numbers: dict[str, int] = field(default_factory=dict, repr=False, compare=False)  # the last of each stem
    _added: dict[Node, Reference] = field(default_factory=dict, repr=False, compare=False)
    _spent: int = field(default=0, repr=False, compare=False)

    def spend(self, members: int) -> None:
        """Count the members of a schema each time that it is written out.

        Raises:
            ArgumentError: There are too many.
        """
        self._spent += members
        if self._spent > MAX_WRITTEN:
            raise ArgumentError(
                f"the grammar would write out more than {MAX_WRITTEN:,} properties and listed values; shorten the schemas, "
                "or use their shared definitions less"
            )

    def new_name(self, stem: str) -> str:
        """Return a name that no rule has yet."""
        name, number = stem, self._numbers.get(stem, 0)
        while name in self.named:
            number += 1
            name = f"{stem}_{number}"
        self._numbers[stem] = number
        return name

    def reserve(self, stem: str) -> Reference:
        """Add a rule without its node, which may refer to the rule itself; return a reference to it."""
        rule = Reference(self.new_name(stem))
        self.named[rule.name] = EMPTY
        return rule

    def add(self, stem: str, node: Node) -> Node:
        """Return a reference to the rule for this node; equal nodes share a rule. A short node is returned itself."""
        if node == EMPTY or isinstance(node, (Literal, Token, Reference)):
            return node
        if node not in self._added:
            rule = self._added[node] = Reference(self.new_name(stem))
            self.named[rule.name] = node
        return self._added[node]

    def items(self) -> Iterator[tuple[str, Node]]:
        """Every rule with its name."""
        return iter(self.named.items())


def optional(part: Node) -> Node:
    """The part or nothing."""
    may_be_empty = part == EMPTY or isinstance(part, OtherTokens)
    return part if may_be_empty else Repeat(part, 0, 1)


#: Optional white space of bounded length.
GAP: Node = optional(Terminal(Repeat(Chars.of(" \n"), 1, 8)))
