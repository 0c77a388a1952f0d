"""Patterns of schemas: read as ECMA 262 says, matched in linear time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unspool.core.regular.match_pattern import Matcher
from unspool.core.regular.schema_patterns import PatternError, parse_pattern

ATOMS = st.sampled_from(
    ["a", "b", "c", ".", "[ab]", "[^a]", r"\d", r"\w", r"\.", "(?:ab|c)", "(b)", r"\u0061"]
)
QUANTIFIED = st.builds(
    str.__add__, ATOMS, st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "{0,}", "+?"])
)
BRANCHES = st.builds(
    lambda start, parts, end: start + "".join(parts) + end,
    st.sampled_from(["", "^"]),
    st.lists(QUANTIFIED, max_size=4),
    st.sampled_from(["", "$"]),
)
PATTERNS = st.lists(BRANCHES, min_size=1, max_size=3).map("|".join)


@given(PATTERNS, st.text("abc.1\n", max_size=8))
def test_a_pattern_is_found_where_python_finds_it(pattern: str, text: str) -> None:
    expected = re.search(pattern.replace("$", r"\Z"), text, re.ASCII) is not None
    assert Matcher(parse_pattern(pattern)).matches(text) == expected


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?=a)b", "looks ahead"),
        ("(?<!a)b", "looks ahead or behind"),
        (r"\bfoo", r"has \\b"),
        (r"(a)\1", r"has \\1"),
        (r"\p{L}", r"has \\p"),
        ("(a", "without its"),
        ("a)", "without its"),
        ("[a", "without its"),
        ("*", "repeats nothing"),
        ("^*", "repeats an anchor"),
        ("(a^)b", "inside a group"),
        ("[b-a]", "ends do not fit"),
        ("a{3,1}", "wrong way round"),
        ("a{1001}", "1,000 times"),
        ("(a{1000}){1000}", "10,000 characters"),
        ("(" * 50 + ")" * 50, "40 groups"),
        ("a" * 6000, "5,000 characters"),
        ("\\", "which no grammar"),
    ],
)
def test_a_pattern_that_no_grammar_can_express(pattern: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        parse_pattern(pattern)


def test_matching_takes_linear_time() -> None:
    matcher = Matcher(parse_pattern("^(a+)+$"))
    start = time.process_time()
    assert not matcher.matches("a" * 20_000 + "b")
    assert time.process_time() - start < 5
