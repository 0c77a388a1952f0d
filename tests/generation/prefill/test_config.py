"""PrefillConfig: what a chunk may be, and what a user may write for it."""

from __future__ import annotations

from typing import Any

import pytest
from unspool import ArgumentError
from unspool.generation.prefill.strategy import STRATEGY_IDS, PrefillConfig


@pytest.mark.parametrize("chunk_tokens", [0, -1])
def test_a_chunk_has_a_token(chunk_tokens: int) -> None:
    with pytest.raises(ArgumentError, match=r"chunk_tokens is -?[0-9]; pass 1 or more"):
        PrefillConfig(chunk_tokens=chunk_tokens)
    with pytest.raises(ValueError, match=r"chunk_tokens is -?[0-9]; pass 1 or more"):
        PrefillConfig.read(chunk_tokens)


@pytest.mark.parametrize("chunk_tokens", [True, 8.0, "8", None])
def test_a_chunk_is_an_integer(chunk_tokens: Any) -> None:
    with pytest.raises(TypeError, match=r"chunk_tokens is .*; pass int"):
        PrefillConfig(chunk_tokens=chunk_tokens)


@pytest.mark.parametrize("strategy", ["auto", "off", *STRATEGY_IDS])
def test_the_known_strategies(strategy: str) -> None:
    assert PrefillConfig(strategy=strategy).strategy == strategy


def test_an_unknown_strategy() -> None:
    with pytest.raises(ArgumentError, match="transformers-generic-text"):
        PrefillConfig(strategy="generic")
    with pytest.raises(TypeError, match="strategy is 1, of type int; pass str"):
        PrefillConfig(strategy=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, PrefillConfig()),
        (True, PrefillConfig(512, "auto")),
        (False, PrefillConfig(strategy="off")),
        (7, PrefillConfig(chunk_tokens=7)),
        ({"chunk_tokens": 3, "strategy": "off"}, PrefillConfig(3, "off")),
        (PrefillConfig(9), PrefillConfig(9)),
    ],
)
def test_read(value: Any, expected: PrefillConfig) -> None:
    assert PrefillConfig.read(value) == expected


def test_read_refuses_the_rest() -> None:
    with pytest.raises(ArgumentError, match="unknown key 'size'"):
        PrefillConfig.read({"size": 3})
    for value in ("auto", 3.0, [1]):
        with pytest.raises(TypeError, match="pass a PrefillConfig"):
            PrefillConfig.read(value)  # type: ignore[arg-type]
