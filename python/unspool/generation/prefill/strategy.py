"""The five lanes by which a prompt enters a model, the settings of a prefill, and the choice of a lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from unspool.core.records import Record, require_at_least
from unspool.errors import ArgumentError

__all__ = [
    "STRATEGY_IDS", "ModelKind", "PrefillConfig", "StrategyId", "choose_strategy", "is_native", "model_kind",
]  # fmt: skip

StrategyId = Literal[
    "optimized-native-text",
    "optimized-native-multimodal",
    "transformers-generic-text",
    "transformers-generic-multimodal",
    "transformers-generic-seq2seq-source",
]
ModelKind = Literal["causal", "seq2seq"]

STRATEGY_IDS: tuple[StrategyId, ...] = get_args(StrategyId)
_CHOICES = ("auto", "off", *STRATEGY_IDS)

# By (backend, kind): the lane of a text prompt, and the lane of a prompt that a processor prepares.
_LANES: dict[tuple[str, ModelKind], tuple[StrategyId, StrategyId]] = {
    ("native", "causal"): ("optimized-native-text", "optimized-native-multimodal"),
    ("transformers", "causal"): ("transformers-generic-text", "transformers-generic-multimodal"),
    ("transformers", "seq2seq"): (
        "transformers-generic-seq2seq-source",
        "transformers-generic-seq2seq-source",
    ),
}


@dataclass(frozen=True, slots=True)
class PrefillConfig(Record):
    """How a prompt runs before the first token is generated.

    Args:
        chunk_tokens: Maximum number of prompt tokens in one forward, at least 1. A shorter prompt runs in one
            forward. An image's placeholders are never cut, so a chunk with an image may be longer.
        strategy: "auto" chooses the lane by the backend, the processor and the model; "off" runs every
            prompt in one forward; any other value is the id of one of the five lanes.

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
            TypeError: `value` has another type.
            ArgumentError: A value is out of range, or a key is not a field.
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


def model_kind(model: Any) -> ModelKind:
    """Return "seq2seq" if the model's config has an encoder and a decoder, else "causal"."""
    config = getattr(model, "config", None)
    return "seq2seq" if getattr(config, "is_encoder_decoder", False) is True else "causal"


def is_native(strategy: StrategyId | None) -> bool:
    """Whether unspool's own decoding loop follows this lane."""
    return strategy is not None and strategy.startswith("optimized-native-")


def choose_strategy(strategy: str, backend: str, has_processor: bool, kind: ModelKind) -> StrategyId | None:
    """Return the lane for the caller's setting ("auto", "off" or a lane's id); None: the prompt runs in one forward.

    "auto" has no lane for an encoder-decoder model with the native backend.

    Args:
        backend: "native" or "transformers".

    Raises:
        ArgumentError: The requested lane does not fit the backend and the model.
    """
    if strategy == "off":
        return None
    lanes = _LANES.get((backend, kind), ())
    if strategy == "auto":
        return lanes[has_processor] if lanes else None
    for lane in lanes:
        if lane == strategy:
            return lane
    use = " or ".join(dict.fromkeys(lanes)) or "no lane"
    raise ArgumentError(
        f"strategy {strategy!r} does not fit the {backend} backend and a {kind} model; use 'auto' ({use})"
    )
