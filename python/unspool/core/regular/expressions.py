"""Regular expressions as trees, used for patterns, lexers and grammars."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "EMPTY",
    "Chars",
    "Choice",
    "Compound",
    "Literal",
    "Node",
    "Reference",
    "Repeat",
    "Sequence",
    "choice",
    "plus",
    "sequence",
    "star",
]


class Node:
    """A part of a grammar."""


class Compound(Node):
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
class Chars(Node):
    """One character in these ranges or, if negated, in none of them."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False

    @classmethod
    def of(cls, chars: Iterable[str], *ranges: tuple[str, str], negated: bool = False) -> Chars:
        """A class of single characters and of ranges."""
        return cls((*((char, char) for char in sorted(set(chars))), *ranges), negated)


@dataclass(frozen=True)
class Sequence(Compound):
    """The parts in order."""

    parts: tuple[Node, ...]

    __hash__ = Compound.__hash__


@dataclass(frozen=True)
class Choice(Compound):
    """One of the parts."""

    parts: tuple[Node, ...]

    __hash__ = Compound.__hash__


@dataclass(frozen=True)
class Repeat(Compound):
    """The part, `least` to `most` times; None: no upper limit."""

    part: Node
    least: int = 0
    most: int | None = None

    __hash__ = Compound.__hash__


@dataclass(frozen=True)
class Reference(Node):
    """A reference to a rule; in a pattern, an anchor."""

    name: str


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


def star(part: Node) -> Node:
    """Zero or more repetitions."""
    return Repeat(part)


def plus(part: Node) -> Node:
    """One or more repetitions."""
    return Repeat(part, 1)
