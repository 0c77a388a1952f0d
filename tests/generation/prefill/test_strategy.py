"""Which lane a prompt takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from unspool import ArgumentError
from unspool.generation.prefill.strategy import STRATEGY_IDS, choose_strategy, is_native, model_kind

TEXT, MULTIMODAL = "optimized-native-text", "optimized-native-multimodal"
GENERIC, GENERIC_MULTIMODAL = "transformers-generic-text", "transformers-generic-multimodal"
SEQ2SEQ = "transformers-generic-seq2seq-source"

TABLE = [
    ("native", False, "causal", TEXT),
    ("native", True, "causal", MULTIMODAL),
    ("native", False, "seq2seq", None),
    ("native", True, "seq2seq", None),
    ("transformers", False, "causal", GENERIC),
    ("transformers", True, "causal", GENERIC_MULTIMODAL),
    ("transformers", False, "seq2seq", SEQ2SEQ),
    ("transformers", True, "seq2seq", SEQ2SEQ),
    ("vllm", False, "causal", None),
    ("vllm", True, "seq2seq", None),
]


@pytest.mark.parametrize(("backend", "has_processor", "kind", "expected"), TABLE)
def test_the_table(backend: str, has_processor: bool, kind: Any, expected: str | None) -> None:
    assert choose_strategy("auto", backend, has_processor, kind) == expected
    assert choose_strategy("off", backend, has_processor, kind) is None


def test_the_five_ids() -> None:
    assert STRATEGY_IDS == (TEXT, MULTIMODAL, GENERIC, GENERIC_MULTIMODAL, SEQ2SEQ)
    assert [is_native(strategy) for strategy in STRATEGY_IDS] == [True, True, False, False, False]
    assert not is_native(None)


def test_a_lane_by_name() -> None:
    # A text prompt for a model whose processor is at hand.
    assert choose_strategy(TEXT, "native", True, "causal") == TEXT
    for backend, kind in (("transformers", "causal"), ("native", "seq2seq"), ("vllm", "causal")):
        with pytest.raises(ArgumentError, match=f"{TEXT}' does not fit the {backend} backend"):
            choose_strategy(TEXT, backend, False, kind)  # type: ignore[arg-type]


def test_model_kind() -> None:
    assert model_kind(SimpleNamespace(config=SimpleNamespace(is_encoder_decoder=True))) == "seq2seq"
    assert model_kind(SimpleNamespace(config=SimpleNamespace(is_encoder_decoder=False))) == "causal"
    assert model_kind(SimpleNamespace(config=SimpleNamespace())) == "causal"
    assert model_kind(object()) == "causal"
