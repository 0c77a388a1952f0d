"""The law with schemas of all kinds: what a grammar admits is valid, or what it left out is listed."""

from __future__ import annotations

from typing import Any

import pytest
import unspool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .schema_walks import faults_of_schema, parameters

FORMATS = [
    "hermes",
    "qwen3_coder",
    "glm47",
    "deepseek_v32",
    "gemma4",
    "kimi_k3",
    "minimax_m3",
    "pythonic",
    "sarashina",
]


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(parameters=parameters(), seed=st.integers(0, 99))
def test_what_is_admitted_is_valid(name: str, parameters: dict[str, Any], seed: int) -> None:
    assert not faults_of_schema(unspool.get_format(name), parameters, seed)
