"""Marks the places where messages spell markers, to distinguish these from the template's own markers."""

from __future__ import annotations

import re
import weakref
from typing import Any

from unspool._core import Vocabulary

__all__ = ["Spelled", "free_letter"]

_expressions: weakref.WeakKeyDictionary[Vocabulary, re.Pattern[str]] = weakref.WeakKeyDictionary()
_NEVER = "(?!)"  # a pattern that matches nothing


class Spelled:
    """Inserts a unique letter after the first letter of each added token that a text spells.

    Added tokens that are words or white space are always text.

    Args:
        letter: A letter that occurs in no text.

    Attributes:
        found: The added tokens that were spelled.
    """

    def __init__(self, vocabulary: Vocabulary, letter: str) -> None:
        self.letter = letter
        self.found: list[str] = []
        self._expression = _expression_of(vocabulary)

    def mark(self, value: Any) -> Any:
        """Return the value with all its texts marked."""
        if isinstance(value, str):
            return self._mark_text(value)
        if isinstance(value, list):
            return [self.mark(one) for one in value]
        if isinstance(value, dict):
            return {key: self.mark(one) for key, one in value.items()}
        return value

    def token_at(self, text: str, place: int) -> str:
        """Return the added token at this place of the text, or ""."""
        found = self._expression.match(text, place)
        return found.group() if found else ""

    def without(self, text: str) -> str:
        """Return the text without the marks."""
        return text.replace(self.letter, "")

    def _mark_text(self, text: str) -> str:
        made = ""
        while found := self._expression.search(text):
            self.found.append(found.group())
            made += text[: found.start() + 1] + self.letter
            text = text[found.start() + 1 :]
        return made + text


def free_letter(text: str) -> str:
    """Return a private-use letter that does not occur in the text."""
    return next(chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)


def _expression_of(vocabulary: Vocabulary) -> re.Pattern[str]:
    """Build the pattern of the added tokens; cached by vocabulary, because there can be thousands."""
    if vocabulary not in _expressions:
        texts = vocabulary.added_tokens.values()
        markers = [text for text in texts if text.strip() and not text.isalnum()]
        longest_first = sorted(markers, key=len, reverse=True)
        _expressions[vocabulary] = re.compile("|".join(map(re.escape, longest_first)) or _NEVER)
    return _expressions[vocabulary]
