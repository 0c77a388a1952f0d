"""What a generator assumes for every request, and what the model and its tokenizer fill in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from unspool.core.records import Record, require_at_least
from unspool.errors import ArgumentError
from unspool.generation.sampling_params import SamplingParams

__all__ = ["POSITION_NAMES", "GenerationDefaults", "model_positions", "resolve_token_ids"]

#: The names under which configs of transformers hold the number of positions.
POSITION_NAMES = (
    "max_position_embeddings",
    "n_positions",
    "max_sequence_length",
    "max_seq_len",
    "seq_length",
    "n_ctx",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationDefaults(Record):
    """Limits and token ids of a `StreamGenerator`; each request may override them.

    Attributes:
        max_new_tokens: The limit of an answer if the request has none.
        pad_token_id, bos_token_id, eos_token_id: Token ids; None is filled in by `resolve_token_ids`.
            Any of several `eos_token_id` ends an answer; a list is kept as a tuple.
        sampling_params: The defaults of every request: `SamplingParams` or a mapping of its fields.

    Raises:
        TypeError: A value is of the wrong type. A bool or a float is not a count.
        ArgumentError: A count is below 1, a token id is below 0, or a list is empty.
    """

    max_new_tokens: int = 64
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | Sequence[int] | None = None
    sampling_params: SamplingParams | None = None

    def _check(self) -> None:
        require_at_least("max_new_tokens", self.max_new_tokens, 1)
        require_at_least("pad_token_id", self.pad_token_id, 0)
        require_at_least("bos_token_id", self.bos_token_id, 0)
        eos = self.eos_token_id
        if isinstance(eos, Sequence):
            if not eos:
                raise ArgumentError("eos_token_id is empty; pass a token id, or None for the model's own")
            for index, token_id in enumerate(eos):
                require_at_least(f"eos_token_id[{index}]", token_id, 0)
        else:
            require_at_least("eos_token_id", eos, 0)

    @property
    def answer_count(self) -> int:
        """How many answers a request gets if it does not set `n`."""
        return 1


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
    sources = {
        "config": config,
        "model.generation_config": getattr(model, "generation_config", None),
        "tokenizer": tokenizer,
    }

    def first(key: str) -> int | tuple[int, ...] | None:
        for name, source in sources.items():
            ids = _token_ids(f"{name}.{key}", getattr(source, key, None))
            if ids is not None:
                return ids
        return None

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
            # XLNet has -1 for "no limit".
            if isinstance(limit, int) and limit > 0:
                return limit, name
    return None


def _text_config(config: Any) -> Any:
    get_text_config = getattr(config, "get_text_config", None)
    if get_text_config is not None:
        try:
            return get_text_config()
        except ValueError:  # transformers finds several and cannot choose
            return None
    return getattr(config, "text_config", None)


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
