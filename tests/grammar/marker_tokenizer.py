"""A tokenizer whose tokens are bytes and a format's markers."""

from __future__ import annotations

import unspool
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

__all__ = ["marker_tokenizer"]


def marker_tokenizer(file: unspool.FormatFile) -> Tokenizer:
    """A token a byte, one for each of the format's markers, and last one that ends the answer."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: id for id, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens(list(file.facts.marker_tokens))
    tokenizer.add_special_tokens(["</stop>"])
    return tokenizer
