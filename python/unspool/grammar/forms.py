"""The ways to write calls that a format has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unspool.grammar.lexicon import is_structural
from unspool.patterns import Pattern, Patterns

__all__ = ["Form", "forms_of", "recipient_of"]


@dataclass(frozen=True)
class Form:
    """One way to write calls.

    Attributes:
        section: What stands around all of them, if anything does.
        is_bare: Whether nothing opens them.
    """

    call: Pattern
    section: Pattern | None
    parameters: tuple[Pattern, ...]

    @property
    def is_bare(self) -> bool:
        return self.section is None and not self.call.first.strip(" \n[")


def forms_of(patterns: Patterns) -> list[Form]:
    """The ways to write calls that a model may use: what only a damaged output has is left out."""
    calls = [call for call in patterns.call if not _is_cut(call, patterns.call)]
    keeps_bare = _is_bare(calls[0]) or calls[0].first.strip().startswith("```")
    if not keeps_bare:
        calls = [call for call in calls if not _is_bare(call)]
    made = []
    for call in calls:
        place = patterns.call.index(call)
        sections = _together(patterns.calls, place, len(patterns.call)) or (None,)
        for section in sections:
            made.append(Form(call, section, _together(patterns.parameter, place, len(patterns.call))))
    return made


def recipient_of(patterns: Patterns, opener: str) -> str | None:
    """What stands before the tool's name in the header of a call's message, such as ` to=`.

    Args:
        opener: What opens the calls.

    Returns:
        None if the format has no headers, or if the opener has its own.
    """
    openers = [*(header.first for header in patterns.header), *patterns.turn]
    if not patterns.header or any(map(opener.startswith, openers)):
        return None
    said = patterns.reasoning[0].first.removeprefix(patterns.header[0].first) if patterns.reasoning else ""
    return said[: said.find("=") + 1]


def _together(alternatives: tuple[Any, ...], place: int, count: int) -> tuple[Any, ...]:
    """Alternatives of two keys belong together one by one if there are as many."""
    return (alternatives[place],) if count > 1 and len(alternatives) == count else alternatives


def _is_bare(call: Pattern) -> bool:
    return not call.first.strip(" \n[")


def _is_cut(call: Pattern, others: tuple[Pattern, ...]) -> bool:
    """Whether the alternative is the end of another one, whose opening token is lost."""
    word = call.first.strip()
    return (
        bool(word)
        and not is_structural(word.rstrip(": "))
        and any(other.first.strip() != word and other.first.strip().endswith(word) for other in others)
    )
