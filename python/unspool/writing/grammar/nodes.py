"""The nodes of a grammar, before it is printed for an engine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "EMPTY",
    "GAP",
    "Chars",
    "Choice",
    "FreeText",
    "JsonValue",
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


class Node:
    """A part of a grammar."""


class _Compound(Node):
    """A node with child nodes. It may be deep, so its hash is computed only once."""

    def __hash__(self) -> int:
        found = self.__dict__.get("_hash")
        if found is None:
            values = tuple(value for key, value in self.__dict__.items() if key != "_hash")
            found = self.__dict__["_hash"] = hash((type(self), *values))
        return int(found)


@dataclass(frozen=True)
class Literal(Node):
    """Exactly this text."""

    text: str


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
class Chars(Node):
    """One character in these ranges or, if negated, in none of them."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False

    @classmethod
    def of(cls, chars: Iterable[str], *ranges: tuple[str, str], negated: bool = False) -> Chars:
        """A class of single characters and of ranges."""
        return cls((*((char, char) for char in sorted(set(chars))), *ranges), negated)


@dataclass(frozen=True)
class Sequence(_Compound):
    """The parts in order."""

    parts: tuple[Node, ...]

    __hash__ = _Compound.__hash__


@dataclass(frozen=True)
class Choice(_Compound):
    """One of the parts."""

    parts: tuple[Node, ...]

    __hash__ = _Compound.__hash__


@dataclass(frozen=True)
class Repeat(_Compound):
    """The part, `least` to `most` times; None: no upper limit."""

    part: Node
    least: int = 0
    most: int | None = None

    __hash__ = _Compound.__hash__


@dataclass(frozen=True)
class Terminal(_Compound):
    """A part that is a regular expression, read by a lexer as one piece.

    Its end must be unambiguous, because a lexer takes the longest match and does not backtrack.
    """

    part: Node

    __hash__ = _Compound.__hash__


@dataclass(frozen=True)
class FreeText(Terminal):
    """Text without these words, and its closer; `part` is the equivalent expression.

    xgrammar has a faster form for it than an expression.
    """

    words: tuple[str, ...] = ()
    closer: str = ""

    __hash__ = _Compound.__hash__


@dataclass(frozen=True)
class JsonValue(Node):
    """A JSON value of a schema, which is stored as JSON text."""

    schema: str

    @classmethod
    def of(cls, schema: Any) -> JsonValue:
        """A value of this schema."""
        return cls(json.dumps(schema, ensure_ascii=False))


@dataclass(frozen=True)
class Reference(Node):
    """A reference to a rule."""

    name: str


@dataclass
class Rules:
    """A grammar: rules by name, including `start`. Rules may be recursive."""

    named: dict[str, Node] = field(default_factory=dict)

    def new_name(self, stem: str) -> str:
        """A name that no rule has yet."""
        names = (f"{stem}_{number}" for number in range(1, len(self.named) + 2))
        return next(name for name in (stem, *names) if name not in self.named)

    def reserve(self, stem: str) -> Reference:
        """A reference to a new rule whose node follows, because it may refer to itself."""
        rule = Reference(self.new_name(stem))
        self.named[rule.name] = EMPTY
        return rule

    def add(self, stem: str, node: Node) -> Node:
        """A reference to a rule for this node; the node itself if it is as short."""
        if isinstance(node, (Literal, Token, Reference)):
            return node
        name = self.new_name(stem)
        self.named[name] = node
        return Reference(name)

    def items(self) -> Iterator[tuple[str, Node]]:
        """Every rule with its name."""
        return iter(self.named.items())


EMPTY = Sequence(())


def sequence(*parts: Node) -> Node:
    """The parts in order; neighbouring literals are merged."""
    flat: list[Node] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Sequence) else (part,):
            if isinstance(piece, Literal) and flat and isinstance(flat[-1], Literal):
                flat[-1] = Literal(flat[-1].text + piece.text)
            elif piece != Literal(""):
                flat.append(piece)
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def choice(*parts: Node) -> Node:
    """One of the parts; duplicates are removed."""
    flat: dict[Node, None] = {}
    for part in parts:
        flat.update(dict.fromkeys(part.parts if isinstance(part, Choice) else (part,)))
    return next(iter(flat)) if len(flat) == 1 else Choice(tuple(flat))


def optional(part: Node) -> Node:
    """The part or nothing."""
    may_be_empty = part == EMPTY or isinstance(part, OtherTokens)
    return part if may_be_empty else Repeat(part, 0, 1)


def star(part: Node) -> Node:
    """Zero or more repetitions."""
    return Repeat(part)


def plus(part: Node) -> Node:
    """One or more repetitions."""
    return Repeat(part, 1)


#: Optional white space of bounded length.
GAP: Node = optional(Terminal(Repeat(Chars.of(" \n"), 1, 8)))
