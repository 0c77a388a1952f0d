"""Finds added tokens in a text, as the `tokenizers` library does."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ["AddedToken", "AddedTokenMatcher", "read_added_tokens"]

# Unicode's White_Space. Python's own classes would add U+001C to U+001F.
_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SPACES_AT = re.compile(f"[{_SPACES}]*")
_SPACE = re.compile(f"[{_SPACES}]")


class AddedToken(NamedTuple):
    """One added token: the spelling to search for, and how to match it."""

    pattern: str
    content: str
    normalized: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    is_skipped: bool = False  # matched but kept as text, because the tokenizer encodes special tokens as text


class AddedTokenMatcher:
    """Finds the leftmost, longest added tokens, in time that is linear in the text and independent of their number."""

    def __init__(self, tokens: Iterable[AddedToken]) -> None:
        self._tokens: dict[str, AddedToken] = {}
        for token in tokens:
            self._tokens.setdefault(token.pattern, token)
        lengths: dict[str, set[int]] = {}
        for pattern in self._tokens:
            lengths.setdefault(pattern[0], set()).add(len(pattern))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}
        self._first = re.compile("[" + "".join(map(re.escape, lengths)) + "]") if lengths else None

    def find(self, text: str, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, AddedToken]]:
        """Yield (position, token) for the matches that begin in `text[begin:end]`; they do not overlap."""
        if self._first is None:
            return
        end = len(text) if end is None else end
        while (start := self._first.search(text, begin, end)) is not None:
            begin = start.start()
            for length in self._lengths[text[begin]]:
                token = self._tokens.get(text[begin : begin + length])
                if token is not None:
                    yield begin, token
                    begin += length
                    break
            else:
                begin += 1

    def split(self, text: str) -> Iterator[tuple[str, AddedToken | None]]:
        """Yield the parts of the text: (text, None) between added tokens, and ("", token) for each added token."""
        done = 0
        for place, token in self.find(text):
            begin, end = place, place + len(token.pattern)
            if token.is_skipped or (token.single_word and not _is_single_word(text, begin, end)):
                continue
            if token.lstrip:
                while begin > done and _SPACE.match(text[begin - 1]):
                    begin -= 1
                begin = max(begin, done)  # the token before it may have consumed the beginning
            if token.rstrip:
                end = _end_of_spaces(text, end)
            if done < begin:
                yield text[done:begin], None
            if begin < end:
                yield "", token
            done = end
        if done < len(text):
            yield text[done:], None


def read_added_tokens(backend: Any, *, skips_special_tokens: bool) -> list[AddedToken]:
    """Return the added tokens of a `tokenizers.Tokenizer`, each with the spelling to search for."""
    tokens = []
    for token_id, token in backend.get_added_tokens_decoder().items():
        content = token.content
        pattern = content
        if token.normalized and backend.normalizer is not None:
            pattern = backend.normalizer.normalize_str(content)
            # Older releases keep the spelling that the normalizer produced when the token was added.
            if pattern != content and token_id not in backend.encode(content, add_special_tokens=False).ids:
                pattern = content
        rules = (token.normalized, token.lstrip, token.rstrip, token.single_word)
        tokens.append(AddedToken(pattern, content, *rules, skips_special_tokens and token.special))
    return tokens


def _end_of_spaces(text: str, begin: int) -> int:
    match = _SPACES_AT.match(text, begin)
    return match.end() if match else begin


def _is_single_word(text: str, begin: int, end: int) -> bool:
    before, after = text[begin - 1 : begin], text[end : end + 1]
    return not (before and _is_word(before)) and not (after and _is_word(after))


def _is_word(char: str) -> bool:
    """Whether a character is part of a word in Unicode's regular expressions (UTS 18, Annex C)."""
    category = unicodedata.category(char)
    is_circled_letter = "\u24b6" <= char <= "\u24e9" or "\U0001f130" <= char <= "\U0001f189"
    return (
        category[0] in "LM" or category in {"Nd", "Nl", "Pc"} or char in "\u200c\u200d" or is_circled_letter
    )
