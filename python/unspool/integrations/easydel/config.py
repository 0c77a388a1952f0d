"""EasyDeL's `InferenceConfig` and `PreCompileConfig`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unspool.core.records import Record, require_at_least, require_count
from unspool.errors import ArgumentError
from unspool.generation import GenerationDefaults

__all__ = ["InferenceConfig", "PreCompileConfig", "power_of_two_lengths"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceConfig(GenerationDefaults):
    """Settings of an engine: `GenerationDefaults` with the fields that EasyDeL adds.

    Attributes:
        streaming_chunks: The number of token ids for each piece of a text stream.
        num_return_sequences: The number of answers to a prompt. A mapping from a prefill length to a number
            requests fewer answers to longer prompts; see `sequence_count`.
        partition_rules, partition_axis: JAX's sharding of the model. They are stored and compared, but have no effect
            with torch. `to_json` accepts them if they are plain data.

    Raises:
        TypeError: A value has the wrong type. A bool or a float is not a count.
        ArgumentError: A count is below 1, a token id is below 0, or a collection is empty.
    """

    streaming_chunks: int = 16
    num_return_sequences: int | Mapping[int, int] = field(default=1, hash=False)
    partition_rules: Any = field(default=None, hash=False)
    partition_axis: Any = field(default=None, hash=False)

    def _check(self) -> None:
        GenerationDefaults._check(self)
        require_at_least("streaming_chunks", self.streaming_chunks, 1)
        counts = self.num_return_sequences
        if not isinstance(counts, Mapping):
            require_at_least("num_return_sequences", counts, 1)
        elif not counts:
            raise ArgumentError("num_return_sequences is empty; pass a prefill length with its count")
        else:
            for length, count in counts.items():
                require_at_least("a prefill length in num_return_sequences", length, 1)
                require_at_least(f"num_return_sequences[{length}]", count, 1)

    @property
    def _loop_rows(self) -> int:
        """The number of pieces in a stream of `max_new_tokens`; the last piece may be shorter."""
        return -(-self.max_new_tokens // self.streaming_chunks)

    @property
    def answer_count(self) -> int:
        """The number of answers to the shortest prompts."""
        return self.sequence_count(0)

    def sequence_count(self, prefill_length: int) -> int:
        """The number of answers to a prompt of this many token ids, padding included.

        With a mapping: the number for the smallest length that is at least the prompt's, or for the largest length if
        all are shorter.
        """
        counts = self.num_return_sequences
        if not isinstance(counts, Mapping):
            return counts
        return counts[min((length for length in counts if length >= prefill_length), default=max(counts))]


@dataclass(frozen=True, slots=True)
class PreCompileConfig(Record):
    """Shapes to warm up: a batch size and a prefill length, or a list of either.

    Attributes:
        batch_size: The number of prompts in one batch, 1 or more.
        prefill_length: The number of token ids in a prompt, padding included, 1 or more. None: `model_prefill_length`.

    Raises:
        TypeError: A value has the wrong type.
        ArgumentError: A value is below 1, or a list is empty.
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
        """Return one config for each shape. The lists are paired item by item; the shorter repeats its last item."""
        sizes = self.batch_size if isinstance(self.batch_size, Sequence) else (self.batch_size,)
        lengths = self.prefill_length if isinstance(self.prefill_length, Sequence) else (self.prefill_length,)
        return tuple(
            PreCompileConfig(sizes[min(index, len(sizes) - 1)], lengths[min(index, len(lengths) - 1)])
            for index in range(max(len(sizes), len(lengths)))
        )

    def stable_hash(self) -> int:
        """A 64-bit hash of the shapes, the same in every process and on every machine.

        Two configs that expand to the same shapes have the same hash.
        """
        shapes = [[config.batch_size, config.prefill_length] for config in self.expand()]
        text = json.dumps(["PreCompileConfig", shapes], separators=(",", ":"))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def get_standalones(self) -> list[PreCompileConfig]:
        """`expand`, under EasyDeL's name."""
        return list(self.expand())

    def get_default_hash(self) -> int:
        """`stable_hash`, under EasyDeL's name."""
        return self.stable_hash()

    def extract(self) -> dict[str, Any]:
        """`to_dict`, under EasyDeL's name."""
        return self.to_dict()

    @classmethod
    def create_optimized_compo(
        cls,
        min_length: int = 64,
        max_length: int = 2048,
        *,
        batch_size: int | Sequence[int] = 1,
        min_prefill_length: int | None = None,
        max_prefill_length: int | None = None,
    ) -> PreCompileConfig:
        """Build a config with prefill lengths for prompts of every size: see `power_of_two_lengths`.

        `min_prefill_length` and `max_prefill_length` are EasyDeL's names for `min_length` and `max_length`.
        """
        least = min_length if min_prefill_length is None else min_prefill_length
        most = max_length if max_prefill_length is None else max_prefill_length
        return cls(batch_size=batch_size, prefill_length=power_of_two_lengths(least, most))


def power_of_two_lengths(min_length: int = 64, max_length: int = 2048) -> tuple[int, ...]:
    """Return the powers of two from `min_length` to `max_length`, both included.

    Raises:
        TypeError: A length is not an int.
        ArgumentError: A length is below 1, or there is no power of two between them.
    """
    for key, length in (("min_length", min_length), ("max_length", max_length)):
        require_count(key, length)
    first = (min_length - 1).bit_length()  # exponent of the first power that is not below `min_length`
    lengths = tuple(1 << power for power in range(first, max_length.bit_length()))
    if not lengths:
        raise ArgumentError(f"no power of two from {min_length} to {max_length}; pass a wider range")
    return lengths
