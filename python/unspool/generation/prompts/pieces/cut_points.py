"""Cuts a text into pieces whose ids equal those of the whole text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from unspool.generation.prompts.pieces.added_tokens import AddedTokenMatcher, read_added_tokens

__all__ = ["CutFinder"]

_CONTEXT = 200  # number of characters after a cut that are compared
_LETTER = r"[^\W\d_]"
# Places where pre-tokenizers usually begin a word, best first; no pre-tokenizer looks back beyond them.
_CANDIDATES = (
    re.compile(rf"(?<={_LETTER})(?= {_LETTER})"),
    re.compile(r"(?<=\w)(?=\s\w)"),
    re.compile(r"(?<=\w)(?=[^\w\s])"),
)
_WINDOW = 64  # minimum number of characters that are searched for the first cut


class CutFinder:
    """Finds cuts by trial: a cut is valid if the two sides alone have the same pre-tokens as both together.

    The tokenizer's own parts, without its model, make the pre-tokens: added tokens are removed, and the rest is
    normalized, split at normalized added tokens and pre-tokenized. The model encodes each pre-token alone, so equal
    pre-tokens give equal ids. The left side is the whole piece since the last cut; by induction, the tokenizer starts
    afresh at every piece. Only a few hundred characters of the right side are compared, since no known rule looks
    farther ahead.

    No list of tokenizers is needed: the comparison shows a normalizer that adds a prefix, a pre-tokenizer that does
    not split here, and a missing pre-tokenizer. In these cases only the cuts before added tokens remain.
    """

    def __init__(self, backend: Any, *, skips_special_tokens: bool = False) -> None:
        self._normalizer = backend.normalizer
        self._pre_tokenizer = backend.pre_tokenizer
        tokens = read_added_tokens(backend, skips_special_tokens=skips_special_tokens)
        # If the normalizer removes an added token, its empty spelling would match everywhere.
        self._can_cut = all(token.pattern for token in tokens)
        tokens = [token for token in tokens if token.pattern]
        self._raw = AddedTokenMatcher(token for token in tokens if not token.normalized)
        self._normalized = AddedTokenMatcher(token for token in tokens if token.normalized)
        self._every = AddedTokenMatcher(token._replace(pattern=token.content) for token in tokens)
        longest = max((max(len(token.pattern), len(token.content)) for token in tokens), default=0)
        self._context = _CONTEXT + 2 * longest

    def split(self, text: str, piece_chars: int) -> Iterator[str]:
        """Yield pieces of about `piece_chars` characters or more; one long piece if no cut is valid.

        Takes linear time, because each window without a cut makes the next one larger.
        """
        begin = 0
        while self._can_cut and len(text) - begin > piece_chars:
            cut = self._next_cut(text, begin, piece_chars)
            if cut is None:
                break
            yield text[begin:cut]
            begin = cut
        yield text[begin:]

    def _next_cut(self, text: str, begin: int, piece_chars: int) -> int | None:
        low = begin + piece_chars
        was_refused = False
        while low < len(text):
            high = low + max((low - begin) // 2, _WINDOW)
            for cut in self._candidates(text, low, high):
                # After an invalid cut, compare the near side first, which saves most comparisons of a long piece.
                near = max(begin, cut - self._context) if was_refused else begin
                if (near == begin or self._stands(text, near, cut)) and self._stands(text, begin, cut):
                    return cut
                was_refused = True
            low = high
        return None

    def _candidates(self, text: str, low: int, high: int) -> Iterator[int]:
        """Yield at most one cut of each kind."""
        for begin, _ in self._every.find(text, low, high):
            yield begin
            break
        if self._pre_tokenizer is None:
            return
        for pattern in _CANDIDATES:
            match = pattern.search(text, low, high)
            if match is not None:
                yield match.start()

    def _stands(self, text: str, begin: int, cut: int) -> bool:
        right = self._pre_tokens(text[cut : cut + self._context])
        both = self._pre_tokens(text[begin : cut + self._context])
        split = len(both) - len(right)
        if not right or split <= 0 or both[split:] != right:
            return False
        # A tokenizer may treat text after an added token differently from the beginning of a text.
        if isinstance(both[split - 1], tuple) and not isinstance(right[0], tuple):
            return False
        return self._pre_tokens(text[begin:cut]) == both[:split]

    def _pre_tokens(self, text: str) -> list[str | tuple[str]]:
        """Return the model's input: pre-tokens as strings, added tokens as (content,)."""
        pre_tokens: list[str | tuple[str]] = []
        for part, token in self._raw.split(text):
            if token is not None:
                pre_tokens.append((token.content,))
                continue
            normalized = part if self._normalizer is None else self._normalizer.normalize_str(part)
            for plain, inner in self._normalized.split(normalized):
                if inner is not None:
                    pre_tokens.append((inner.content,))
                elif self._pre_tokenizer is None:
                    pre_tokens.append(plain)
                else:
                    pre_tokens.extend(string for string, _ in self._pre_tokenizer.pre_tokenize_str(plain))
        return pre_tokens
