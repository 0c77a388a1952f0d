"""`InferenceConfig` and `PreCompileConfig`: what an engine is set up with, and what the model fills in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unspool.errors import ArgumentError
from unspool.generation.sampling_params import SamplingParams
from unspool.records import Record, require_at_least

__all__ = [
    "InferenceConfig",
    "PreCompileConfig",
    "model_prefill_length",
    "power_of_two_lengths",
    "resolve_token_ids",
]

# Under these names the configs of transformers say how many positions a model has.
_LENGTH_NAMES = (
    "max_position_embeddings",
    "n_positions",
    "max_sequence_length",
    "max_seq_len",
    "seq_length",
    "n_ctx",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceConfig(Record):
    """How an engine generates.

    Attributes:
        max_new_tokens: At most so many new token ids a prompt; a request may ask for less.
        streaming_chunks: How many token ids go into one piece of a text stream.
        num_return_sequences: How many answers a prompt gets. A mapping from a prefill length to a
            count asks for fewer answers to longer prompts; see `sequence_count`.
        pad_token_id, bos_token_id, eos_token_id: Token ids; None is filled in by `resolve_token_ids`.
            Any of several `eos_token_id` ends an answer; a list is kept as a tuple.
        sampling_params: The defaults of every request: `SamplingParams` or a mapping of its fields.
        partition_rules, partition_axis: How JAX would shard the model. They are carried and compared,
            and have no effect on torch; `to_json` takes them if they are plain data.

    Raises:
        TypeError: A value is of the wrong type; a bool or a float is no count.
        ArgumentError: A count below 1, a token id below 0, no token id or no count in a collection.
    """

    max_new_tokens: int = 64
    streaming_chunks: int = 16
    num_return_sequences: int | Mapping[int, int] = field(default=1, hash=False)
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | Sequence[int] | None = None
    sampling_params: SamplingParams | None = None
    partition_rules: Any = field(default=None, hash=False)
    partition_axis: Any = field(default=None, hash=False)

    def _check(self) -> None:
        require_at_least("max_new_tokens", self.max_new_tokens, 1)
        require_at_least("streaming_chunks", self.streaming_chunks, 1)
        counts = self.num_return_sequences
        if isinstance(counts, Mapping):
            if not counts:
                raise ArgumentError("num_return_sequences is empty; pass a prefill length with its count")
            for length, count in counts.items():
                require_at_least("a prefill length in num_return_sequences", length, 1)
                require_at_least(f"num_return_sequences[{length}]", count, 1)
        else:
            require_at_least("num_return_sequences", counts, 1)
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
    def _loop_rows(self) -> int:
        """How many pieces a stream of `max_new_tokens` has, the last one perhaps short."""
        return -(-self.max_new_tokens // self.streaming_chunks)

    def sequence_count(self, prefill_length: int) -> int:
        """How many answers a prompt of this many token ids (padding included) gets.

        With a mapping: the count of the smallest length that holds the prompt, or of the largest
        length if none does.
        """
        counts = self.num_return_sequences
        if not isinstance(counts, Mapping):
            return counts
        return counts[min((length for length in counts if length >= prefill_length), default=max(counts))]


@dataclass(frozen=True, slots=True)
class PreCompileConfig(Record):
    """Shapes to warm up: a batch size and a prefill length, or a list of either.

    Attributes:
        batch_size: Prompts in one batch, 1 or more.
        prefill_length: Token ids of a prompt, padding included, 1 or more; None is the longest that
            the model takes, as `model_prefill_length` says.

    Raises:
        TypeError: A value is of the wrong type.
        ArgumentError: A value below 1, or an empty list.
    """

    batch_size: int | Sequence[int] = 1
    prefill_length: int | Sequence[int] | None = None

    def _check(self) -> None:
        for key in ("batch_size", "prefill_length"):
            value = getattr(self, key)
            if value == ():
                raise ArgumentError(f"{key} is empty; pass a number of 1 or more, or a list of them")
            for item in value if isinstance(value, Sequence) else (value,):
                require_at_least(key, item, 1)

    def expand(self) -> tuple[PreCompileConfig, ...]:
        """One config for each shape, pairing the lists item by item; the shorter one repeats its last."""
        sizes = self.batch_size if isinstance(self.batch_size, Sequence) else (self.batch_size,)
        lengths = self.prefill_length if isinstance(self.prefill_length, Sequence) else (self.prefill_length,)
        return tuple(
            PreCompileConfig(sizes[min(index, len(sizes) - 1)], lengths[min(index, len(lengths) - 1)])
            for index in range(max(len(sizes), len(lengths)))
        )

    def stable_hash(self) -> int:
        """64 bits that stand for these shapes, the same in every process and on every machine.

        Two configs that expand to the same shapes have the same hash.
        """
        shapes = [[config.batch_size, config.prefill_length] for config in self.expand()]
        text = json.dumps(["PreCompileConfig", shapes], separators=(",", ":"))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    @classmethod
    def create_optimized_compo(
        cls, min_length: int = 64, max_length: int = 2048, *, batch_size: int | Sequence[int] = 1
    ) -> PreCompileConfig:
        """Prefill lengths for prompts of every size: see `power_of_two_lengths`."""
        return cls(batch_size=batch_size, prefill_length=power_of_two_lengths(min_length, max_length))


def power_of_two_lengths(min_length: int = 64, max_length: int = 2048) -> tuple[int, ...]:
    """The powers of two from `min_length` to `max_length`, both included.

    Raises:
        TypeError: A length is no int.
        ArgumentError: A length below 1, or no power of two between them.
    """
    for key, length in (("min_length", min_length), ("max_length", max_length)):
        _require_count(key, length)
    lengths = []
    length = 1 << (min_length - 1).bit_length()  # the first power that is not below
    while length <= max_length:
        lengths.append(length)
        length *= 2
    if not lengths:
        raise ArgumentError(f"no power of two from {min_length} to {max_length}; pass a wider range")
    return tuple(lengths)


def resolve_token_ids(config: InferenceConfig, model: Any, tokenizer: Any) -> InferenceConfig:
    """Fill in the token ids that the config leaves open.

    Each one is the config's own, else that of `model.generation_config`, else the tokenizer's. If none has a
    pad token id, it is the first eos token id. A bos token id may stay None. Ids below 0 do not count: some
    models have them for "none".

    Args:
        model: Anything, with a `generation_config` or without.
        tokenizer: A tokenizer, or a processor that holds one as its `tokenizer`.

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
            " eos_token_id; pass InferenceConfig(eos_token_id=...)"
        )
    pad = first("pad_token_id")
    return config.replace(
        pad_token_id=_first_id(eos if pad is None else pad),
        bos_token_id=_first_id(first("bos_token_id")),
        eos_token_id=eos,
    )


def model_positions(model: Any) -> tuple[int, str] | None:
    """How many positions a model has, and what its config calls them; None if it does not say.

    Searches the config of the model's text part first, if it has one, then `model.config`.
    """
    config = getattr(model, "config", None)
    for part in (_text_config(config), config):
        for name in _LENGTH_NAMES:
            limit = getattr(part, name, None)
            # XLNet says -1 for "no limit".
            if isinstance(limit, int) and limit > 0:
                return limit, name
    return None


def model_prefill_length(model: Any, max_new_tokens: int) -> int:
    """How many token ids a prompt may have, so that `max_new_tokens` more fit into the model's positions.

    Raises:
        ArgumentError: The config does not say how many positions there are, or `max_new_tokens` is
            below 1, or leaves no room for a prompt.
        TypeError: `max_new_tokens` is no int.
    """
    _require_count("max_new_tokens", max_new_tokens)
    positions = model_positions(model)
    if positions is not None:
        limit, name = positions
        if max_new_tokens >= limit:
            raise ArgumentError(
                f"max_new_tokens is {max_new_tokens}, but the model has {limit} positions ({name});"
                f" pass less than {limit}"
            )
        return limit - max_new_tokens
    raise ArgumentError(
        "the model does not say how long a prompt may be: neither model.config nor its text config has"
        f" any of {', '.join(_LENGTH_NAMES)}; pass prefill_length"
    )


def _text_config(config: Any) -> Any:
    get_text_config = getattr(config, "get_text_config", None)
    if get_text_config is not None:
        try:
            return get_text_config()
        except ValueError:  # transformers finds several and cannot choose
            return None
    return getattr(config, "text_config", None)


def _require_count(key: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{key} is {value!r}, of type {type(value).__name__}; pass an int")
    require_at_least(key, value, 1)


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
