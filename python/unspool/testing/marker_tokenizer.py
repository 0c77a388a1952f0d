"""A tokenizer whose tokens are bytes and the markers of a format."""

from __future__ import annotations

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from unspool.formats.format_file import FormatFile

__all__ = ["END", "marker_tokenizer"]

END = "</stop>"


def marker_tokenizer(file: FormatFile, end: str | None = END) -> Tokenizer:
    """One token per byte, one per marker, and a last one that ends the answer, unless `end` is None."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: id for id, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens(list(file.facts.marker_tokens))
    if end is not None:
        tokenizer.add_special_tokens([end])
    return tokenizer
