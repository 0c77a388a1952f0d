"""A whole text to ids, with whatever tokenizer a user brings."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

__all__ = ["encode_batch", "encode_whole", "is_tokenizers_object", "tokenizers_backend"]


def is_tokenizers_object(tokenizer: Any) -> bool:
    """Whether this is a `tokenizers.Tokenizer`, with no import of that library."""
    module = sys.modules.get("tokenizers")
    return module is not None and isinstance(tokenizer, module.Tokenizer)


def tokenizers_backend(tokenizer: Any) -> Any | None:
    """The `tokenizers.Tokenizer` that does the work, if one does: the object itself or a fast tokenizer's."""
    if is_tokenizers_object(tokenizer):
        return tokenizer
    if getattr(tokenizer, "is_fast", False) is True:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if is_tokenizers_object(backend):
            return backend
    return None


def encode_whole(tokenizer: Any, text: str, *, add_special_tokens: bool) -> list[int]:
    """The ids of the whole text in one call.

    Calls `tokenizer(text, add_special_tokens=...)`; if that is a TypeError, and for a
    `tokenizers.Tokenizer`, `tokenizer.encode(text, add_special_tokens=...)`.
    """
    if is_tokenizers_object(tokenizer):
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
    """The ids of each text, without special tokens, in one call of a tokenizer with a backend."""
    if is_tokenizers_object(tokenizer):
        return [list(one.ids) for one in tokenizer.encode_batch(texts, add_special_tokens=False)]
    # The call, not the backend: it sets the backend's padding and truncation as transformers wants them.
    rows = tokenizer(texts, add_special_tokens=False)["input_ids"]
    return [list(row) for row in rows]


def _read_ids(result: Any) -> list[int]:
    """Ids out of a list, an array, an encoding or a mapping with `input_ids`; one row of a batch of one."""
    if isinstance(result, Mapping):
        result = result["input_ids"]
    else:
        for name in ("input_ids", "ids"):
            if hasattr(result, name):
                result = getattr(result, name)
                break
    if hasattr(result, "tolist"):
        result = result.tolist()
    ids = list(result)
    if len(ids) == 1 and isinstance(ids[0], (list, tuple)):
        ids = list(ids[0])
    return ids
