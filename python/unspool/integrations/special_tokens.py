"""Adds special tokens to a tokenizer, and room for them to the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unspool.errors import ArgumentError

__all__ = ["add_special_tokens"]


def add_special_tokens(model: Any, tokenizer: Any, tokens: Sequence[str]) -> int:
    """Add special tokens to a tokenizer, and resize the model's embeddings if they are too few.

    New rows are not set to the mean of the old ones, because that needs their values and fails on the meta device.

    Args:
        tokens: The tokens' texts; tokens that the tokenizer already has are unchanged.

    Returns:
        The number of new tokens.
    """
    if isinstance(tokens, str):
        raise ArgumentError("tokens is one string; pass a list of the tokens' texts")
    added = int(tokenizer.add_tokens(list(tokens), special_tokens=True))
    size = len(tokenizer)
    embeddings = getattr(model, "get_input_embeddings", lambda: None)()
    if embeddings is not None and embeddings.weight.shape[0] >= size:
        return added  # many models have rows to spare
    try:
        model.resize_token_embeddings(size, mean_resizing=False)
    except TypeError as error:
        if "mean_resizing" not in str(error):
            raise
        model.resize_token_embeddings(size)  # a model of before that option
    return added
