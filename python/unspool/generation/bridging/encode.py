"""Encodes the template's text without changing the ids before it; text in messages never becomes a marker."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unspool._core import Vocabulary

__all__ = ["SuffixEncoder"]


class SuffixEncoder:
    """Encodes text that follows given ids, which do not change.

    A tokenizer may treat the beginning of a text specially, for example by adding a space. So the text is
    encoded after an added token, which no merge crosses, and that token is removed again.

    Args:
        letter: Marks the places where a message's text spells an added token.
    """

    def __init__(self, vocabulary: Vocabulary, encode: Callable[[str], Sequence[int]], letter: str) -> None:
        self._vocabulary, self._encode, self._letter = vocabulary, encode, letter
        self._anchor = next((id for id in vocabulary.added_tokens if vocabulary.is_special(id)), None)

    def ids(self, text: str, before: Sequence[int]) -> list[int]:
        """Encode a text that follows the ids `before`."""
        last = before[-1] if before and self._vocabulary.is_added(before[-1]) else self._anchor
        made: list[int] = []
        for number, part in enumerate(text.split(self._letter)):
            made += self._behind(self._anchor if number else last, part)
        return made

    def _behind(self, anchor: int | None, text: str) -> list[int]:
        if not text:
            return []
        content = None if anchor is None else self._vocabulary.content(anchor)
        if content:
            ids = [int(one) for one in self._encode(content + text)]
            if ids[:1] == [anchor]:
                return ids[1:]
        return [int(one) for one in self._encode(text)]
