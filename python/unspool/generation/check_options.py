"""Checks the options of a call against what the model's `generate` takes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from unspool.generation.prefill.cache_name import CACHE_NAMES

__all__ = ["check_options"]

# Options that `read_settings` reads; `generate` has no argument of these names.
_OURS = frozenset({"n", "seed", "logprobs", "logits_processor", "stopping_criteria", *CACHE_NAMES})


def check_options(model: Any, options: Iterable[str]) -> None:
    """Raise TypeError for options that no one reads. transformers would raise in the worker, after the call.

    A model with a `generate` of its own that takes any keyword is not checked.
    """
    left = sorted(set(options) - _OURS - _config_names())
    if not left or not hasattr(model, "_validate_model_kwargs"):
        return
    readers = [model.generate, model.forward, model.prepare_inputs_for_generation]
    if getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        readers.append(model.get_encoder().forward)
    known = {name for reader in readers for name in _names(reader)}
    unknown = [name for name in left if name not in known and not name.startswith("decoder_")]
    if unknown:
        raise TypeError(
            f"stream takes no {', '.join(unknown)}; no option of generate or Parser has this name"
        )


def _names(function: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [name for name, item in inspect.signature(function).parameters.items() if item.kind not in kinds]


@functools.cache
def _config_names() -> frozenset[str]:
    from transformers import GenerationConfig

    return frozenset(vars(GenerationConfig()))
