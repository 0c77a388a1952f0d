"""Random walks through a grammar's mask, without a model."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llguidance import LLMatcher

from .matchers import LlguidanceMatcher, Matcher

__all__ = ["TokenWalker", "Walker"]

_LETTERS = b"abc xyz0123456789.,:;\"'\\{}[]()<>/=|_-\n&%" + "é".encode()[:1]
_ENDS = b"\"'}])<,:\n"
_NOT_0 = re.compile(rb"[^\0]")
#: How often a walk guesses before it looks at the whole mask.
_GUESSES = 30


@dataclass
class Walker:
    """Walks through one grammar, over bytes."""

    matcher: Matcher
    fragments: Sequence[bytes]
    rng: random.Random

    @classmethod
    def of(cls, text: str, fragments: Sequence[bytes], rng: random.Random) -> Walker:
        """Through a Lark grammar, in llguidance."""
        return cls(LlguidanceMatcher(text), fragments, rng)

    def walk(self, size: int = 120, limit: int = 3000) -> bytes | None:
        """One text that the grammar admits; None if none was found within the limit.

        After `size` bytes it takes what may lead to the end.
        """
        matcher, out = self.matcher, bytearray()
        matcher.restart()
        while len(out) < limit:
            is_late = len(out) > size
            if matcher.may_end() and self.rng.random() < (0.6 if is_late else 0.1):
                break
            mask = matcher.mask()
            count = len(mask) - mask.count(0)
            if not count:
                break
            step = self._step(mask, is_late) if count > 1 else bytes([_first(mask)])
            matcher.take(step)
            out += step
        return bytes(out) if matcher.may_end() else None

    def _step(self, mask: bytes, is_late: bool) -> bytes:
        if self.rng.random() < (0.5 if is_late else 0.2):
            found = self._fragment(self.rng.sample(self.fragments, min(6, len(self.fragments))))
            if is_late and not found:
                found = self._fragment(sorted(self.fragments, key=len, reverse=True)[:40])
            if found:
                return found
        if is_late:
            ends = [byte for byte in _ENDS if mask[byte]]
            if ends and self.rng.random() < 0.5:
                return bytes([self.rng.choice(ends)])
        if self.rng.random() < 0.97:
            letters = [byte for byte in _LETTERS if mask[byte]]
            if letters:
                return bytes([self.rng.choice(letters)])
        return bytes([self.rng.choice([byte for byte in range(256) if mask[byte]])])

    def _fragment(self, candidates: Sequence[bytes]) -> bytes:
        for text in candidates:
            taken = self.matcher.admits(text)
            if taken == len(text) or (taken > 0 and self.rng.random() < 0.3):
                return text[:taken]
        return b""


@dataclass
class TokenWalker:
    """Walks through one Lark grammar, over a tokenizer's ids."""

    matcher: LLMatcher
    closers: Sequence[Sequence[int]]
    rng: random.Random

    @classmethod
    def of(cls, tokens: Any, text: str, closers: Sequence[Sequence[int]], rng: random.Random) -> TokenWalker:
        """`closers` lead to the end: brackets, quotes, markers, each in its tokens."""
        matcher = LLMatcher(tokens, text)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return cls(matcher, closers, rng)

    def walk(self, size: int = 40, limit: int = 400) -> list[int] | None:
        """Ids that the grammar admits; None if no end was found within the limit."""
        # A copy, since llguidance's `reset` counts the bytes of some tokens wrongly.
        matcher, out = self.matcher.deep_copy(), list[int]()
        while len(out) < limit:
            if matcher.is_error():
                raise ValueError(matcher.get_error())
            if matcher.is_stopped() or (matcher.is_accepting() and self.rng.random() < 0.3):
                return out
            step = self._step(matcher, 0.3 if len(out) < size else 1.0)
            if not matcher.consume_tokens(step):
                raise ValueError(matcher.get_error())
            out += step
        return None

    def _step(self, matcher: LLMatcher, closing: float) -> list[int]:
        mask = matcher.compute_logit_bias()
        if self.rng.random() < closing:
            for ids in self.rng.sample(self.closers, len(self.closers)):
                if mask[ids[0]] and matcher.validate_tokens(list(ids)) == len(ids):
                    return list(ids)
        guesses = (self.rng.randrange(len(mask)) for _ in range(_GUESSES))
        id = next((id for id in guesses if mask[id]), None)
        return [_first(mask, self.rng.randrange(len(mask))) if id is None else id]


def _first(mask: bytes, begin: int = 0) -> int:
    """The first that is allowed from `begin` on, or of all."""
    found = _NOT_0.search(mask, begin) or _NOT_0.search(mask)
    assert found is not None, "nothing may come next"
    return found.start()
