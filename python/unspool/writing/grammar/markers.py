"""The texts that the parser looks for, which free text must not contain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unspool._core import FormatFacts, Patterns
from unspool.core.format.forms import is_structural

__all__ = ["Markers"]


@dataclass(frozen=True)
class Markers:
    """The texts that the parser looks for, by the region in which they count."""

    content: tuple[str, ...]
    value: tuple[str, ...]

    @classmethod
    def of(cls, patterns: Patterns, facts: FormatFacts) -> Markers:
        """The markers of a format."""
        found = [*facts.ends, *facts.section_openers, *facts.section_closers, *facts.dropped]
        for call in facts.calls:
            found += [*call.openers, *call.closers]
        for header in facts.headers:
            found += [*header.openers, *header.closers]
        if facts.reasoning is not None:
            found += [*facts.reasoning.openers, *facts.reasoning.closers]
        for pattern in patterns.call:  # a word opens a call only if the rest of the call follows
            opener = pattern.first.lstrip().removesuffix("[")
            if pattern.has("object") and opener and opener.rstrip()[-1:] not in ">]":
                found += [opener + letter for letter in "[{"]
        content = _short(word.strip() for word in found if is_structural(word))
        tags = []
        for parameter in patterns.parameter:
            tags += [parameter.first.strip().rstrip("\"'"), parameter.last.strip()]
            if parameter.has("value"):
                tags += [parameter.after("key").strip(), parameter.after("value").strip()]
        value = _short((*content, *filter(is_structural, tags)))
        return cls(content, value)


_LONG = 7
_LONGEST = 16


def _short(words: Iterable[str]) -> tuple[str, ...]:
    """The words, or equally rare parts of them: text without the part is text without the word.

    The automaton is small for short words with one unusual character each.
    """
    tags = {_part(word) for word in words}
    made: set[str] = set()
    for word in tags:
        shared = [prefix for other in tags if other != word and len(prefix := _shared(word, other)) >= _LONG]
        is_tag = not word[0].isalnum()
        made.add(min(shared, key=len) if shared and is_tag else word)
    return tuple(sorted(made))


def _part(word: str) -> str:
    """The last tag within a word; of a long tag only the beginning."""
    if word[0].isalnum() and "<" in word:
        word = word[word.index("<") :]
    if word[0].isalnum():
        return word
    last = word.rfind(word[0], 0, max(1, len(word) - _LONG + 1))
    word = word[last:]
    return word[: _LONGEST - 4] if len(word) > _LONGEST else word


def _shared(one: str, other: str) -> str:
    """The common prefix of two words."""
    size = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return one[:size]
