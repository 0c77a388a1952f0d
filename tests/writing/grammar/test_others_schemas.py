"""Schemas and labelled instances of JSON-Schema-Test-Suite: counts that only become better.

`python bench/conformance/schemas.py` counts more of them, beside the engines' own schemas.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from unspool import json_grammar

from .instances import count_instances
from .matchers import LlguidanceMatcher, Matcher, XgrammarMatcher

SAMPLE = json.loads((Path(__file__).parent / "others" / "json_schema_test_suite.json").read_text("utf-8"))
GROUPS = [(one["schema"], [(test["data"], test["valid"]) for test in one["tests"]]) for one in SAMPLE]
#: Most that are refused have a keyword without the type that it is about: a grammar takes the type from it.
KNOWN: dict[str, dict[str, int]] = {
    "lark": {
        "schemas": 120,
        "refused schemas": 1,
        "valid": 304,
        "valid refused": 72,
        "invalid": 176,
        "invalid admitted": 0,
        "listed": 51,
    },
    "structural_tag": {
        "schemas": 120,
        "refused schemas": 1,
        "valid": 304,
        "valid refused": 72,
        "invalid": 176,
        "invalid admitted": 0,
        "listed": 51,
    },
}


@pytest.mark.parametrize("syntax", KNOWN)
def test_the_counts_are_known(syntax: Any) -> None:
    pytest.importorskip("llguidance" if syntax == "lark" else "xgrammar")

    def compile(schema: Any) -> tuple[Matcher, bool]:
        grammar = json_grammar(schema, syntax=syntax)
        matcher: Matcher = (
            LlguidanceMatcher(grammar.text) if syntax == "lark" else XgrammarMatcher(grammar.text, syntax)
        )
        return matcher, bool(grammar.dropped)

    assert dict(count_instances(GROUPS, compile)) == KNOWN[syntax], "better? record it; worse? mend it"
