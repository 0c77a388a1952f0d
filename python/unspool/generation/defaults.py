"""The special tokens that a model and its tokenizer name."""

from __future__ import annotations

from typing import Any, TypeVar

from unspool.errors import ArgumentError
from unspool.generation.sampling_params import GenerationDefaults

__all__ = ["resolve_token_ids"]

D = TypeVar("D", bound=GenerationDefaults)


def resolve_token_ids(config: D, model: Any, tokenizer: Any) -> D:
    """Fill in the token ids that the config leaves open.

    Each one is the config's own, else that of `model.generation_config`, else the tokenizer's. Without a
    pad token id, the first eos token id is used. A bos token id may stay None. Ids below 0 do not count:
    some models use them for "none".

    Args:
        model: Any object, with a `generation_config` or without.
        tokenizer: A tokenizer, or a processor with a `tokenizer`.

    Raises:
        ArgumentError: None of them has an eos token id.
        TypeError: The model's or the tokenizer's ids are not integers.
    """
    if not hasattr(tokenizer, "eos_token_id"):
        tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    own = getattr(model, "generation_config", None)
    sources = {"config": config, "model.generation_config": own, "tokenizer": tokenizer}

    def first(key: str) -> int | tuple[int, ...] | None:
        found = (_token_ids(f"{name}.{key}", getattr(source, key, None)) for name, source in sources.items())
        return next((ids for ids in found if ids is not None), None)

    eos = first("eos_token_id")
    if eos is None:
        raise ArgumentError(
            "no token ends an answer: the config, model.generation_config and the tokenizer have no"
            f" eos_token_id; pass {type(config).__name__}(eos_token_id=...)"
        )
    pad = first("pad_token_id")
    return config.replace(
        pad_token_id=_first_id(eos if pad is None else pad),
        bos_token_id=_first_id(first("bos_token_id")),
        eos_token_id=eos,
    )


def _token_ids(key: str, value: Any) -> int | tuple[int, ...] | None:
    """Ids as a model or tokenizer may hold them: None, an int, a list of ints, a tensor."""
    value = value.tolist() if hasattr(value, "tolist") else value
    ids = list(value) if isinstance(value, (list, tuple)) else [value]
    for token_id in ids:
        if token_id is not None and (not isinstance(token_id, int) or isinstance(token_id, bool)):
            raise TypeError(f"{key} is {value!r}; make it an int or a list of ints")
    ids = [token_id for token_id in ids if token_id is not None and token_id >= 0]
    is_list = isinstance(value, (list, tuple))
    return (tuple(ids) if is_list else ids[0]) if ids else None


def _first_id(ids: int | tuple[int, ...] | None) -> int | None:
    return ids[0] if isinstance(ids, tuple) else ids
