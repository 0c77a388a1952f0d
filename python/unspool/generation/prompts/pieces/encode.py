"""Encodes a whole text with any tokenizer, and finds the special tokens that it adds."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from unspool.errors import ArgumentError

__all__ = ["encode_batch", "encode_whole", "special_affixes", "tokenizers_backend"]

_PROBES = ("a", "1 b", "the end", ".", "\n")


def _is_tokenizers_object(tokenizer: Any) -> bool:
    """Whether this is a `tokenizers.Tokenizer`; does not import that library."""
    module = sys.modules.get("tokenizers")
    return module is not None and isinstance(tokenizer, module.Tokenizer)


def tokenizers_backend(tokenizer: Any) -> Any | None:
    """Return the `tokenizers.Tokenizer` that this is or that a fast tokenizer wraps; None for other tokenizers."""
    if _is_tokenizers_object(tokenizer):
        return tokenizer
    if getattr(tokenizer, "is_fast", False) is True:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if _is_tokenizers_object(backend):
            return backend
    return None


def encode_whole(tokenizer: Any, text: str, *, add_special_tokens: bool) -> list[int]:
    """Encode the whole text in one call.

    Calls `tokenizer(text, add_special_tokens=...)`. If that raises TypeError, or for a `tokenizers.Tokenizer`, calls
    `tokenizer.encode(text, add_special_tokens=...)`.
    """
    if _is_tokenizers_object(tokenizer):
        return list(tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)
    try:
        result = tokenizer(text, add_special_tokens=add_special_tokens)
    except TypeError as error:
        try:
            result = tokenizer.encode(text, add_special_tokens=add_special_tokens)
        except (TypeError, AttributeError):
            raise TypeError(
                f"a {type(tokenizer).__name__} does not encode as tokenizers of transformers do ({error}); "
                "pass the prompt as token ids"
            ) from error
    return _read_ids(result)


def encode_batch(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    """Encode several texts, without special tokens, in one call of a tokenizer with a backend."""
    if _is_tokenizers_object(tokenizer):
        return [list(one.ids) for one in tokenizer.encode_batch(texts, add_special_tokens=False)]
    # Use the tokenizer's own call, which sets the backend's padding and truncation.
    rows = tokenizer(texts, add_special_tokens=False)["input_ids"]
    return [list(row) for row in rows]


def _read_ids(result: Any) -> list[int]:
    """Read the ids from a list, an array, an encoding or a mapping with `input_ids`, or from a batch of one row."""
    if isinstance(result, Mapping):
        result = result["input_ids"]
    else:
        result = getattr(result, "input_ids", getattr(result, "ids", result))
    ids = list(result.tolist() if hasattr(result, "tolist") else result)
    return list(ids[0]) if len(ids) == 1 and isinstance(ids[0], (list, tuple)) else ids


def special_affixes(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Return the ids that `tokenizer(text)` adds before and after a text: Llama ([bos], []), T5 ([], [</s>]).

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
        candidates = {
            (tuple(whole[:count]), tuple(whole[count + len(plain) :]))
            for count in range(extra + 1)
            if whole[count : count + len(plain)] == plain
        }
        agreed = candidates if agreed is None else agreed & candidates
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
