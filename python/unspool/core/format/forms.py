"""The forms of calls in a format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from unspool._core import Pattern, Patterns

__all__ = ["OBJECT", "Form", "forms_of", "is_structural", "recipient_of"]

#: The object of a call in a format whose file does not say it.
OBJECT = Pattern.parse('{"name": ${name}, "arguments": ${arguments}}')

_SIGNS = re.compile(r"[<>\[\]{}|`◁]|: ?$")


def is_structural(word: str) -> bool:
    """Whether a marker is more than a word of plain text."""
    return bool(word.strip()) and bool(_SIGNS.search(word.strip()) or " " in word.strip())


@dataclass(frozen=True)
class Form:
    """One form of calls.

    Attributes:
        section: The markup around all of them, if any.
        is_bare: Whether they have no opener.
    """

    call: Pattern
    section: Pattern | None
    parameters: tuple[Pattern, ...]

    @property
    def is_bare(self) -> bool:
        return self.section is None and _is_bare(self.call)


def forms_of(patterns: Patterns) -> list[Form]:
    """The forms of calls that a model may use, without those that occur only in damaged output."""
    calls = [call for call in patterns.call if not _is_cut(call, patterns.call)]
    if not (_is_bare(calls[0]) or calls[0].first.strip().startswith("```")):
        calls = [call for call in calls if not _is_bare(call)]
    made = []
    for call in calls:
        place = patterns.call.index(call)
        parameters = _together(patterns.parameter, place, len(patterns.call))
        for section in _together(patterns.calls, place, len(patterns.call)) or (None,):
            made.append(Form(call, section, parameters))
    return made


def recipient_of(patterns: Patterns, opener: str) -> str | None:
    """The text before the tool's name in the header of a call's message, such as ` to=`.

    Args:
        opener: The opener of the calls.

    Returns:
        None if the format has no headers, or if the opener has its own.
    """
    openers = [*(header.first for header in patterns.header), *patterns.turn]
    if not patterns.header or any(map(opener.startswith, openers)):
        return None
    said = patterns.reasoning[0].first.removeprefix(patterns.header[0].first) if patterns.reasoning else ""
    return said[: said.find("=") + 1]


def _together(alternatives: tuple[Any, ...], place: int, count: int) -> tuple[Any, ...]:
    """The alternatives of the other key that belong to this one: one by one if both have the same number."""
    return (alternatives[place],) if count > 1 and len(alternatives) == count else alternatives


def _is_bare(call: Pattern) -> bool:
    return not call.first.strip(" \n[")


def _is_cut(call: Pattern, others: tuple[Pattern, ...]) -> bool:
    """Whether the alternative is another one without its opening token."""
    word = call.first.strip()
    return (
        bool(word)
        and not is_structural(word.rstrip(": "))
        and any(other.first.strip() != word and other.first.strip().endswith(word) for other in others)
    )
