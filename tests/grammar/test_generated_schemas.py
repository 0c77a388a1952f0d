"""The law with schemas of all kinds: what a grammar admits is valid, or what it left out is listed."""

from __future__ import annotations

import random
from typing import Any

import pytest
import unspool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unspool.grammar.make_grammar import make_grammar

from .schemas import schemas
from .walks import Walker, faults, fragments_of

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
@given(
    parameters=st.dictionaries(st.sampled_from(["a", "city", "b_2"]), schemas(2), min_size=1),
    seed=st.integers(0, 99),
)
def test_what_is_admitted_is_valid(name: str, parameters: dict[str, Any], seed: int) -> None:
    file = unspool.get_format(name)
    definitions: dict[str, Any] = {}
    for schema in parameters.values():
        if isinstance(schema, dict):
            definitions.update(schema.pop("$defs", {}))
    schema = {
        "type": "object",
        "properties": parameters,
        "required": sorted(parameters)[:1],
        "$defs": definitions,
    }
    tools = [{"name": "f", "parameters": schema}]
    try:
        grammar = make_grammar(file, tools, tool_choice="required", parallel=False)
    except unspool.ArgumentError:
        return  # a name or a listed text that the format cannot write
    rng = random.Random(seed)
    walker = Walker(grammar.text, fragments_of(file, tools), rng)
    text = walker.walk(60, 1500)
    if text is not None:
        assert faults(file, text, tools, True, bool(grammar.dropped)) == [], text
