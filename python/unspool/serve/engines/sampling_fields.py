"""Sampling parameters under an engine's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from unspool.errors import ArgumentError
from unspool.generation.sampling_params import SamplingParams

__all__ = ["sampling_fields"]

# Parameters that unspool handles itself, or that stand elsewhere in a request.
_OURS = frozenset({
    "max_reasoning_tokens", "n", "stop", "include_stop", "stop_token_ids", "skip_special_tokens", "logprobs",
})  # fmt: skip


def sampling_fields(sampling: SamplingParams, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a request for the parameters that are set.

    Args:
        names: The engine's name of each parameter; the engine does not support parameters that are missing here.

    Raises:
        ArgumentError: The engine does not support a parameter that is set.
    """
    values = {}
    for item in fields(sampling):
        value = getattr(sampling, item.name)
        if item.name in _OURS or value is None or value is False or value == ():
            continue
        if item.name not in names:
            raise ArgumentError(f"the engine has no {item.name}; leave it out")
        values[names[item.name]] = list(value) if isinstance(value, tuple) else value
    return values
