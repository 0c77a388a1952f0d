"""One small tokenizer a format: byte-level BPE learnt from the cases, the format's markers one token each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def train(texts: Iterable[str]) -> str:
    """The base of all stand-ins, as JSON: about a word a token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=3000, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(texts, trainer)
    return str(tokenizer.to_str())


def spelling(markers: Iterable[str], text: str, suffix: str = ":opensource") -> frozenset[str]:
    """Of markers that a family spells with and without a suffix, those of the text's spelling."""
    every = set(markers)
    plain = {m.replace(suffix, "") for m in every if suffix in m}
    return frozenset(every - plain if suffix in text else {m for m in every if suffix not in m})


def with_markers(base: str, markers: Iterable[str]) -> Any:
    from tokenizers import AddedToken, Tokenizer

    tokenizer = Tokenizer.from_str(base)
    # Not "special": hosts may drop special tokens that they do not know.
    tokenizer.add_tokens([AddedToken(m, normalized=False, special=False) for m in sorted(markers)])
    return tokenizer


def tokens_of(tokenizer: Any, text: str) -> list[tuple[int, str]]:
    """Each id with the text that a detokenizer emits at it."""
    from tokenizers.decoders import DecodeStream

    stream = DecodeStream(skip_special_tokens=False)
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return [(id, stream.step(tokenizer, id) or "") for id in ids]
