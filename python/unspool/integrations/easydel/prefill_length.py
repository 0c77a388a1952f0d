"""The longest prompt after which an answer fits."""

from __future__ import annotations

from typing import Any

from unspool.core.records import require_count
from unspool.errors import ArgumentError
from unspool.generation import POSITION_NAMES, model_positions

__all__ = ["prefill_length"]


def prefill_length(model: Any, max_new_tokens: int) -> int:
    """The most token ids of a prompt after which `max_new_tokens` more fit into the model's positions.

    Raises:
        ArgumentError: The config has no number of positions, or `max_new_tokens` is below 1 or leaves no
            room for a prompt.
        TypeError: `max_new_tokens` is not an int.
    """
    require_count("max_new_tokens", max_new_tokens)
    positions = model_positions(model)
    if positions is None:
        raise ArgumentError(
            "the model's config does not show how long a prompt may be: neither model.config nor its text"
            f" config has any of {', '.join(POSITION_NAMES)}; pass prefill_length"
        )
    limit, name = positions
    if max_new_tokens >= limit:
        raise ArgumentError(
            f"max_new_tokens is {max_new_tokens}, but the model has {limit} positions ({name}); pass less than {limit}"
        )
    return limit - max_new_tokens
