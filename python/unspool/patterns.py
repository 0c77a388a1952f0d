"""A format's patterns, split as in the core: literal texts with holes between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unspool import _core

__all__ = ["Hole", "Pattern", "Patterns"]


@dataclass(frozen=True)
class Hole:
    """A place in a pattern: `${value:xml,python}` has the kind "value" and two options."""

    kind: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pattern:
    """Alternating texts and holes; begins and ends with a text."""

    texts: tuple[str, ...]
    holes: tuple[Hole, ...]

    @property
    def first(self) -> str:
        """The text before the first hole."""
        return self.texts[0]

    @property
    def last(self) -> str:
        """The text after the last hole."""
        return self.texts[-1]

    def count(self, kind: str) -> int:
        """The number of holes of this kind."""
        return sum(hole.kind == kind for hole in self.holes)

    def has(self, kind: str) -> bool:
        """Whether it has a hole of this kind."""
        return self.count(kind) > 0

    def index(self, kind: str) -> int:
        """The index of the first hole of this kind among the holes. Raises ValueError if there is none."""
        return [hole.kind for hole in self.holes].index(kind)

    def options(self, kind: str) -> tuple[str, ...]:
        """The options of the first hole of this kind; none if there is no such hole."""
        return self.holes[self.index(kind)].options if self.has(kind) else ()

    def before(self, kind: str) -> str:
        """The text before the first hole of this kind."""
        return self.texts[self.index(kind)]

    def after(self, kind: str) -> str:
        """The text after the first hole of this kind."""
        return self.texts[self.index(kind) + 1]


@dataclass(frozen=True)
class Patterns:
    """The patterns of a format file: the alternatives of each key.

    Attributes:
        leftovers: Alternatives without a hole: markup that is dropped wherever it occurs.
    """

    turn: tuple[str, ...]
    end: tuple[str, ...]
    reasoning: tuple[Pattern, ...]
    content: tuple[Pattern, ...]
    calls: tuple[Pattern, ...]
    call: tuple[Pattern, ...]
    parameter: tuple[Pattern, ...]
    object: tuple[Pattern, ...]
    string: tuple[Pattern, ...]
    header: tuple[Pattern, ...]
    id: tuple[Pattern, ...]
    leftovers: tuple[str, ...]

    @classmethod
    def read(cls, patterns: Mapping[str, Any]) -> Patterns:
        """Split the result of `FormatFile.to_core`.

        Raises:
            FormatError: A pattern is invalid.
        """
        keys = _core.split_patterns(patterns)
        for key, alternatives in keys.items():
            if key not in ("turn", "end", "leftovers"):
                keys[key] = tuple(map(_pattern, alternatives))
        return cls(**keys)


def _pattern(parts: tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]) -> Pattern:
    texts, holes = parts
    return Pattern(texts, tuple(Hole(kind, options) for kind, options in holes))
