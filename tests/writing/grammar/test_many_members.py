"""A grammar takes work in proportion to its schema."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import unspool


def calls_for(count: int, format: str, **options: Any) -> int:
    """How many calls of Python functions a tool with so many parameters takes."""
    properties = {f"p{i}": {"type": ["integer", "null"]} for i in range(count)}
    tools = [{"name": "f", "parameters": {"type": "object", "properties": properties}}]
    calls = 0

    def note(_: Any, event: str, __: Any) -> None:
        nonlocal calls
        calls += event == "call"

    file = unspool.get_format(format)
    sys.setprofile(note)
    try:
        file.grammar(tools, **options)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    ("format", "syntax"), [("qwen3_coder", "lark"), ("hermes", "gbnf"), ("gemma4", "gbnf")]
)
def test_twice_the_members_take_twice_the_work(format: str, syntax: str) -> None:
    calls_for(10, format, syntax=syntax)  # what is computed once
    few, many = (calls_for(count, format, syntax=syntax) for count in (400, 800))
    assert many < 2.2 * few
