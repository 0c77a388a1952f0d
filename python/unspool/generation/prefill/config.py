"""The settings of a prefill: the tokens of a chunk, and the lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from unspool.errors import ArgumentError
from unspool.generation.prefill.strategy import StrategyId

__all__ = ["PrefillConfig"]

_CHOICES = ("auto", "off", *get_args(StrategyId))


@dataclass(frozen=True, slots=True)
class PrefillConfig:
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

    def __post_init__(self) -> None:
        if isinstance(self.chunk_tokens, bool) or not isinstance(self.chunk_tokens, int):
            raise TypeError(f"chunk_tokens is a {type(self.chunk_tokens).__name__}; pass an int")
        if self.chunk_tokens < 1:
            raise ArgumentError(f"chunk_tokens must be at least 1, not {self.chunk_tokens}")
        if not isinstance(self.strategy, str):
            raise TypeError(f"strategy is a {type(self.strategy).__name__}; pass a str")
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
        if value is None or value is True:
            return cls()
        if value is False:
            return cls(strategy="off")
        if isinstance(value, PrefillConfig):
            return value
        if isinstance(value, int):
            return cls(chunk_tokens=value)
        if isinstance(value, Mapping):
            unknown = [key for key in value if key not in ("chunk_tokens", "strategy")]
            if unknown:
                raise ArgumentError(f"prefill has no field {unknown[0]!r}; use chunk_tokens and strategy")
            return cls(**value)
        raise TypeError(
            f"prefill is a {type(value).__name__}; pass a PrefillConfig, an int, a mapping or False"
        )
