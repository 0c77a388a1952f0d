"""The five lanes of a prompt into a model, and how one is chosen."""

from __future__ import annotations

from typing import Any, Literal, get_args

from unspool.errors import ArgumentError

__all__ = ["STRATEGY_IDS", "ModelKind", "StrategyId", "choose_strategy", "is_native", "model_kind"]

StrategyId = Literal[
    "optimized-native-text",
    "optimized-native-multimodal",
    "transformers-generic-text",
    "transformers-generic-multimodal",
    "transformers-generic-seq2seq-source",
]
ModelKind = Literal["causal", "seq2seq"]

STRATEGY_IDS: tuple[StrategyId, ...] = get_args(StrategyId)

# (backend, kind): the lane of a text prompt, the lane of a prompt that a processor prepares.
_LANES: dict[tuple[str, ModelKind], tuple[StrategyId, StrategyId]] = {
    ("native", "causal"): ("optimized-native-text", "optimized-native-multimodal"),
    ("transformers", "causal"): ("transformers-generic-text", "transformers-generic-multimodal"),
    ("transformers", "seq2seq"): (
        "transformers-generic-seq2seq-source",
        "transformers-generic-seq2seq-source",
    ),
}


def model_kind(model: Any) -> ModelKind:
    """ "seq2seq" for a model with an encoder and a decoder, by its config; else "causal"."""
    config = getattr(model, "config", None)
    return "seq2seq" if getattr(config, "is_encoder_decoder", False) is True else "causal"


def is_native(strategy: StrategyId | None) -> bool:
    """Whether our own decoding loop follows this lane."""
    return strategy is not None and strategy.startswith("optimized-native-")


def choose_strategy(strategy: str, backend: str, has_processor: bool, kind: ModelKind) -> StrategyId | None:
    """The lane that the caller's setting ("auto", "off" or a lane's id) names; None: the prompt runs in one forward.

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
