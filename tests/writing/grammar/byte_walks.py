"""Matchers without a model: one byte a token, and random walks through the mask."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

END = 256


class _Bytes:
    eos_token_id = END
    bos_token_id = None
    special_token_ids = (END,)
    tokens = (*(bytes([byte]) for byte in range(256)), b"<eos>")

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)


@cache
def _llguidance_tokenizer() -> Any:
    llguidance = pytest.importorskip("llguidance")
    return llguidance.LLTokenizer(llguidance.TokenizerWrapper(_Bytes()))


def llguidance_matcher(text: str) -> Any:
    """A matcher for a Lark grammar; the test fails if it cannot be compiled."""
    from llguidance import LLMatcher

    matcher = LLMatcher(_llguidance_tokenizer(), text)
    assert not matcher.is_error(), f"{matcher.get_error()}\n{text}"
    return matcher


def admits(grammar: str, text: str) -> bool:
    """Whether llguidance admits the whole text, and nothing is missing."""
    matcher, data = llguidance_matcher(grammar), text.encode()
    return bool(matcher.try_consume_tokens(list(data)) == len(data) and matcher.is_accepting())


def walk(grammar: str, seed: int, limit: int = 2000) -> str | None:
    """A text that the grammar admits, byte by byte at random; None if it is not complete after the limit."""
    matcher, chosen, rng = llguidance_matcher(grammar), bytearray(), random.Random(seed)
    for _ in range(limit):
        if matcher.is_accepting() and (matcher.is_stopped() or rng.random() < 0.3):
            break
        mask = matcher.compute_bitmask()
        allowed = [byte for byte in range(256) if mask[byte >> 3] >> (byte & 7) & 1]
        if not allowed:
            assert matcher.is_accepting(), f"stuck after {bytes(chosen)!r}"
            break
        closing = [byte for byte in allowed if byte in b'"]}' or (len(chosen) > 200 and byte in b"0,:tfn")]
        byte = rng.choice(closing if closing and rng.random() < 0.25 + len(chosen) / 400 else allowed)
        chosen.append(byte)
        assert matcher.consume_token(byte), matcher.get_error()
    else:
        return None
    return chosen.decode()
