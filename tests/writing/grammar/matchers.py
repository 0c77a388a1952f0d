"""Matchers of two engines without a model, over bytes: what a walk asks of each."""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import numpy as np
from llguidance import LLMatcher, LLTokenizer

_BYTES = LLTokenizer("byte")


class Matcher(Protocol):
    """A grammar, and how much of a text it has read."""

    def restart(self) -> None:
        """Forget the text."""

    def mask(self) -> bytes:
        """An entry for each of the 256 bytes: 0 where the byte may not come next."""

    def admits(self, text: bytes) -> int:
        """How many of the text's first bytes may come next."""

    def take(self, text: bytes) -> None:
        """Read bytes, all of which may come next."""

    def may_end(self) -> bool:
        """Whether the text is complete as it is."""


class LlguidanceMatcher:
    """Of a Lark grammar."""

    def __init__(self, text: str) -> None:
        self._matcher = LLMatcher(_BYTES, text)
        if self._matcher.is_error():
            raise ValueError(self._matcher.get_error())

    def restart(self) -> None:
        self._matcher.reset()

    def mask(self) -> bytes:
        return bytes(self._matcher.compute_logit_bias()[:256])

    def admits(self, text: bytes) -> int:
        return int(self._matcher.validate_tokens(list(text)))

    def take(self, text: bytes) -> None:
        if not self._matcher.consume_tokens(list(text)):
            raise ValueError(self._matcher.get_error())

    def may_end(self) -> bool:
        return bool(self._matcher.is_accepting() or self._matcher.is_stopped())


class XgrammarMatcher:
    """Of a structural tag, of GBNF or of a Lark grammar."""

    def __init__(self, text: str, syntax: str) -> None:
        import xgrammar

        self._matcher = xgrammar.GrammarMatcher(_compile(text, syntax), terminate_without_stop_token=False)
        self._mask = xgrammar.allocate_token_bitmask(1, 257)

    def restart(self) -> None:
        self._matcher.reset()

    def mask(self) -> bytes:
        self._matcher.fill_next_token_bitmask(self._mask)
        words = np.asarray(self._mask[0]).view(np.uint8)
        return np.unpackbits(words, bitorder="little")[:256].tobytes()

    def admits(self, text: bytes) -> int:
        count = self._accept(text)
        if count:
            self._matcher.rollback(count)
        return count

    def take(self, text: bytes) -> None:
        if self._accept(text) < len(text):
            raise ValueError(f"{text!r} is not admitted")

    def may_end(self) -> bool:
        return bool(self._matcher.is_completed())

    def _accept(self, text: bytes) -> int:
        return next((at for at, byte in enumerate(text) if not self._matcher.accept_token(byte)), len(text))


@cache
def xgrammar_compiler() -> Any:
    import xgrammar

    tokens = [bytes([byte]) for byte in range(256)] + [b"</s>"]
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256])
    return xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)


def _compile(text: str, syntax: str) -> Any:
    compiler = xgrammar_compiler()
    compilers = {
        "structural_tag": compiler.compile_structural_tag, "gbnf": compiler.compile_grammar,
        "lark": compiler.compile_lark,
    }  # fmt: skip
    return compilers[syntax](text)
