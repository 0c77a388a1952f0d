"""PrefillScope: the record of a prefill, exact both ways, and its metadata."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unspool import ArgumentError
from unspool.generation.prefill import PrefillReport
from unspool.generation.prefill.strategy import STRATEGY_IDS
from unspool.integrations.ollm import PrefillGap, PrefillScope, gap_inventory

SCOPE = PrefillScope.of("transformers-generic-text", eligible=True, applied=True, reason="long")
KEYS = [
    "chunked_prefill_strategy_id",
    "chunked_prefill_runtime_eligible",
    "chunked_prefill_applied",
    "chunked_prefill_activation_reason",
    "chunked_prefill_execution_boundary",
    "chunked_prefill_attention_mask_mode",
]


@given(st.sampled_from([None, *STRATEGY_IDS]), st.booleans(), st.booleans(), st.text())
def test_a_scope_survives_json(strategy: Any, eligible: bool, applied: bool, reason: str) -> None:
    scope = PrefillScope.of(strategy, eligible=eligible, applied=eligible and applied, reason=reason)
    assert PrefillScope.from_dict(json.loads(json.dumps(scope.to_dict()))) == scope
    assert list(scope.metadata()) == KEYS
    assert all(isinstance(value, str) for value in scope.metadata().values())


def test_a_scope_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        SCOPE.applied = False  # type: ignore[misc]


def test_the_three_gaps() -> None:
    assert [gap.gap_id for gap in gap_inventory()] == [
        "prompt-tokenization-before-prefill",
        "full-attention-mask-before-prefill",
        "seq2seq-source-prefill",
    ]
    assert {gap.recommendation for gap in gap_inventory()} == {"implement"}
    assert all(gap.current_behavior and gap.rationale for gap in gap_inventory())
    assert SCOPE.gap_inventory == gap_inventory()


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("strategy_id", 3, TypeError),
        ("strategy_id", "transformers-generic", ArgumentError),
        ("runtime_eligible", "true", TypeError),
        ("runtime_eligible", False, ArgumentError),  # applied all the same
        ("applied", 1, TypeError),
        ("activation_reason", None, TypeError),
        ("execution_boundary", "elsewhere", ArgumentError),
        ("execution_boundary", "", ArgumentError),  # blank only without a lane
        ("attention_mask_mode", True, TypeError),
        ("attention_mask_mode", "full", ArgumentError),
        ("gap_inventory", {}, TypeError),
        ("gap_inventory", ["prompt-tokenization-before-prefill"], TypeError),
    ],
)
def test_a_value_that_does_not_fit(key: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=key):
        PrefillScope.from_dict({**SCOPE.to_dict(), key: value})


@pytest.mark.parametrize("key", list(SCOPE.to_dict()))
def test_a_missing_key(key: str) -> None:
    record = SCOPE.to_dict()
    del record[key]
    with pytest.raises(ArgumentError, match=f"needs the key '{key}'"):
        PrefillScope.from_dict(record)


def test_an_unknown_key_and_no_mapping() -> None:
    with pytest.raises(ArgumentError, match="unknown key 'chunk'; PrefillScope has"):
        PrefillScope.from_dict({**SCOPE.to_dict(), "chunk": 1})
    with pytest.raises(TypeError, match="read from a mapping"):
        PrefillScope.from_dict([SCOPE])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("gap_id", "another", ArgumentError),
        ("recommendation", "wait", ArgumentError),
        ("rationale", 1, TypeError),
    ],
)
def test_a_gap_is_as_strict(key: str, value: Any, error: type[Exception]) -> None:
    record = {**gap_inventory()[0].to_dict(), key: value}
    with pytest.raises(error, match=key):
        PrefillGap.from_dict(record)
    del record[key]
    with pytest.raises(ArgumentError, match=key):
        PrefillGap.from_dict(record)


def test_metadata() -> None:
    assert list(SCOPE.metadata().values()) == [
        "transformers-generic-text", "true", "true", "long",
        "streamed-prompt-preparation", "lazy-prefix-synthesis",
    ]  # fmt: skip
    blank = PrefillScope.of(None, eligible=False, applied=False, reason="")
    assert list(blank.metadata().values()) == ["", "false", "false", "", "", ""]


def test_a_scope_of_a_result() -> None:
    report = PrefillReport("transformers-generic-text", True, True, "long")
    assert PrefillScope.from_report(report) == SCOPE
    assert report.metadata() == SCOPE.metadata()
