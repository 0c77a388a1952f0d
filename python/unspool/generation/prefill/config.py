"""The settings of a prefill: the tokens of a chunk, and the lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unspool.core.records import Record, require_at_least
from unspool.errors import ArgumentError
from unspool.generation.prefill.strategy import STRATEGY_IDS

__all__ = ["PrefillConfig"]

_CHOICES = ("auto", "off", *STRATEGY_IDS)


@dataclass(frozen=True, slots=True)
class PrefillConfig(Record):
    """How a prompt runs before the first token is generated.

    Args:
        chunk_tokens: The most prompt tokens in one forward, at least 1. A shorter prompt runs in one
            forward. An image's placeholders are never cut, so a chunk with an image may be longer.
        strategy: "auto" chooses the lane by the backend, the processor and the model; "off" runs every
            prompt in one forward; else the id of one of the five lanes.

    Raises:
        TypeError: `chunk_tokens` is not an integer, or is a bool; or `strategy` is not a string.
        ArgumentError: `chunk_tokens` is below 1, or the strategy is unknown.
    """

    chunk_tokens: int = 512
    strategy: str = "auto"

    def _check(self) -> None:
        require_at_least("chunk_tokens", self.chunk_tokens, 1)
        if self.strategy not in _CHOICES:
            raise ArgumentError(f"unknown strategy {self.strategy!r}; use one of {', '.join(_CHOICES)}")

    @classmethod
    def read(cls, value: PrefillConfig | Mapping[str, Any] | int | bool | None) -> PrefillConfig:
        """Read a user's `prefill=`: None or True for the defaults, False for no chunks, an int
        for the size of a chunk, a mapping of the fields, or a PrefillConfig.

        Raises:
            TypeError: Another type.
            ArgumentError: A value out of range, or a key that is no field.
        """
        if value is None or isinstance(value, bool):
            return cls(strategy="off" if value is False else "auto")
        if isinstance(value, PrefillConfig):
            return value
        if isinstance(value, int):
            return cls(chunk_tokens=value)
        if isinstance(value, Mapping):
            return cls.from_dict(value)
        kind = type(value).__name__
        raise TypeError(f"prefill is a {kind}; pass a PrefillConfig, an int, a mapping or False")
