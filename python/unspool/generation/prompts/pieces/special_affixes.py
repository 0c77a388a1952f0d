"""Finds the special tokens that a tokenizer adds around any text."""

from __future__ import annotations

from typing import Any

from unspool.errors import ArgumentError
from unspool.generation.prompts.pieces.encode import encode_whole

__all__ = ["special_affixes"]

_PROBES = ("a", "1 b", "the end", ".", "\n")


def special_affixes(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The ids that `tokenizer(text)` adds before and after a text: Llama ([bos], []), T5 ([], [</s>]).

    Compares short texts with and without special tokens. Returns ([], []) for a tokenizer without the argument
    `add_special_tokens`. Raises ArgumentError if no such ids explain the difference.
    """
    agreed: set[tuple[tuple[int, ...], tuple[int, ...]]] | None = None
    for probe in _PROBES:
        try:
            plain = encode_whole(tokenizer, probe, add_special_tokens=False)
            whole = encode_whole(tokenizer, probe, add_special_tokens=True)
        except TypeError:
            return [], []
        extra = len(whole) - len(plain)
        found = {
            (tuple(whole[:count]), tuple(whole[count + len(plain) :]))
            for count in range(extra + 1)
            if whole[count : count + len(plain)] == plain
        }
        agreed = found if agreed is None else agreed & found
        # A text that contains the special token itself leaves several candidates: try the next text.
        if len(agreed) <= 1:
            break
    if agreed is None or len(agreed) != 1:
        raise ArgumentError(
            "cannot find out which special tokens this tokenizer puts around a text; "
            "tokenize the prompt yourself and pass its ids"
        )
    before, after = agreed.pop()
    return list(before), list(after)
