"""Creates, measures, repeats and checks a model's cache of keys and values."""

from __future__ import annotations

import inspect
import sys
from typing import Any

__all__ = [
    "cache_length",
    "cache_problem",
    "can_crop",
    "continuation_problem",
    "is_transformers_model",
    "make_cache",
    "repeat_cache",
]

# Caches that are allocated once, for a length that is unknown at the first chunk (transformers 4.46 to 5.x).
_FIXED_SIZE = frozenset({
    "StaticCache", "SlidingWindowCache", "HybridCache", "HybridChunkedCache", "OffloadedHybridCache",
    "OffloadedStaticCache",
})  # fmt: skip


def is_transformers_model(model: Any) -> bool:
    """Whether a model's class is one of transformers; does not import it."""
    base = getattr(sys.modules.get("transformers"), "PreTrainedModel", None)
    return base is not None and isinstance(model, base)


def make_cache(model: Any) -> Any:
    """Create a cache as `model.generate` would; None if the model creates its own.

    Also None for models from other libraries, and for models whose cache is a tuple.
    """
    if not is_transformers_model(model):
        return None
    supports = getattr(model, "_supports_default_dynamic_cache", None)
    if supports is not None and not supports():
        return None
    dynamic = sys.modules["transformers"].DynamicCache
    # With the config, layers of a sliding window keep no more than their window (transformers >= 4.56).
    if "config" in inspect.signature(dynamic.__init__).parameters:
        return dynamic(config=model.config.get_text_config(decoder=True))
    return dynamic()


def cache_length(cache: Any) -> int | None:
    """Return the number of tokens in a cache; None if it is unknown.

    Tuples are read as transformers reads them: layer 0's keys have shape (rows, heads, length, size).
    """
    get_length = getattr(cache, "get_seq_length", None)
    try:
        if get_length is not None:
            return int(get_length())
        keys = cache[0][0]
        return int(keys.shape[2]) if len(keys.shape) == 4 else None
    except Exception:  # an unknown cache class
        return None


def cache_problem(cache: Any) -> str | None:
    """Return why a cache cannot be continued by a chunk of several tokens, or None."""
    names = {base.__name__ for base in type(cache).__mro__}
    if names & _FIXED_SIZE:
        return f"the cache, a {type(cache).__name__}, has a fixed size"
    layers = getattr(cache, "layers", ())
    if any("Mamba" in name for name in names) or any(
        hasattr(layer, "conv_states") or hasattr(layer, "recurrent_states") for layer in layers
    ):
        return "the cache holds recurrent states, which take one token at a time"
    return None


def can_crop(cache: Any) -> bool:
    """Whether `cache.crop(-n)` removes the last n tokens with every transformers: all layers keep every token."""
    dynamic = getattr(sys.modules.get("transformers"), "DynamicCache", None)
    layers = getattr(cache, "layers", ())
    return type(cache) is dynamic and all(type(layer).__name__ == "DynamicLayer" for layer in layers)


def continuation_problem(cache: Any, length: int) -> str | None:
    """Return why the next forward cannot continue from the cache of one that ended after `length` tokens, or None."""
    if cache is None:
        return "the forward returned no cache"
    held = cache_length(cache)
    if held != length:
        holds = "does not show its length" if held is None else f"holds {held} tokens"
        return f"the cache {holds} after {length} of the prompt"
    return cache_problem(cache)


def repeat_cache(cache: Any, rows: int) -> Any:
    """Repeat the cache's row, in place if possible, and return the cache; None if it cannot be repeated."""
    if rows == 1:
        return cache
    if isinstance(cache, tuple):
        return tuple(tuple(tensor.repeat_interleave(rows, dim=0) for tensor in layer) for layer in cache)
    repeat = getattr(cache, "batch_repeat_interleave", None)
    if repeat is None:
        return None
    repeat(rows)
    return cache
