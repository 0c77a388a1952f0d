"""One small tokenizer per format: byte-level BPE trained on the cases, with one token per marker."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any


def train(texts: Iterable[str]) -> str:
    """The common base of all tokenizers, as JSON: about a word per token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=3000, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(texts, trainer)
    return str(tokenizer.to_str())


def spelling(markers: Iterable[str], text: str) -> frozenset[str]:
    """The markers of the checkpoint that would write this text, if a family's checkpoints differ."""
    suffix = ":opensource"  # Hunyuan
    every = set(markers)
    plain = {marker.replace(suffix, "") for marker in every if suffix in marker}
    every = every - plain if suffix in text else {marker for marker in every if suffix not in marker}
    if re.search(r"\[TOOL_CALLS\]\s*[\[{]", text) and "[ARGS]" not in text:  # Mistral's older tokenizers
        every -= {"[ARGS]", "[CALL_ID]"}
    return frozenset(every)


def with_markers(base: str, markers: Iterable[str]) -> Any:
    from tokenizers import AddedToken, Tokenizer

    tokenizer = Tokenizer.from_str(base)
    # Not "special": hosts may drop special tokens that they do not know.
    tokenizer.add_tokens([AddedToken(m, normalized=False, special=False) for m in sorted(markers)])
    return tokenizer


def tokens_of(tokenizer: Any, base: Any, text: str, plain: Iterable[str] = ()) -> list[tuple[int, str]]:
    """Each id with the text that a detokenizer emits for it; `plain` texts are spelled without markers."""
    from tokenizers.decoders import DecodeStream

    markers = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    spelt = {part for part in plain if part in text and any(marker in part for marker in markers)}
    found = sorted(spelt, key=len, reverse=True)
    parts = re.split(f"({'|'.join(map(re.escape, found))})", text) if found else [text]
    ids = [
        id
        for part in parts
        for id in (base if part in found else tokenizer).encode(part, add_special_tokens=False).ids
    ]
    stream = DecodeStream(skip_special_tokens=False)
    return [(id, stream.step(tokenizer, id) or "") for id in ids]
