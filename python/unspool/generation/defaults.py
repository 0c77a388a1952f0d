"""What a model and its tokenizer say about themselves: special tokens and the number of positions."""

from __future__ import annotations

from typing import Any, TypeVar

from unspool.errors import ArgumentError
from unspool.generation.sampling_params import GenerationDefaults

__all__ = ["POSITION_NAMES", "GenerationDefaults", "model_positions", "resolve_token_ids"]

#: The names under which configs of transformers hold the number of positions.
POSITION_NAMES = (
    "max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len", "seq_length", "n_ctx",
)  # fmt: skip

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


def model_positions(model: Any) -> tuple[int, str] | None:
    """The number of positions of a model, and its name in the config; None if the config has neither.

    Searches the config of the model's text part first, if there is one, then `model.config`.
    """
    config = getattr(model, "config", None)
    for part in (_text_config(config), config):
        for name in POSITION_NAMES:
            limit = getattr(part, name, None)
            if isinstance(limit, int) and limit > 0:  # XLNet has -1 for "no limit"
                return limit, name
    return None


def _text_config(config: Any) -> Any:
    get_text_config = getattr(config, "get_text_config", None)
    if get_text_config is None:
        return getattr(config, "text_config", None)
    try:
        return get_text_config()
    except ValueError:  # transformers finds several and cannot choose
        return None


def _token_ids(key: str, value: Any) -> int | tuple[int, ...] | None:
    """Ids as a model or tokenizer may hold them: None, an int, a list of ints, a tensor."""
    value = value.tolist() if hasattr(value, "tolist") else value
    ids = list(value) if isinstance(value, (list, tuple)) else [value]
    for token_id in ids:
        if token_id is not None and (not isinstance(token_id, int) or isinstance(token_id, bool)):
            raise TypeError(f"{key} is {value!r}; make it an int or a list of ints")
    ids = [token_id for token_id in ids if token_id is not None and token_id >= 0]
    if not ids:
        return None
    return tuple(ids) if isinstance(value, (list, tuple)) else ids[0]


def _first_id(ids: int | tuple[int, ...] | None) -> int | None:
    return ids[0] if isinstance(ids, tuple) else ids
