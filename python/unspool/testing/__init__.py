"""Helpers for tests: cases as data, ways to split a stream, and the check of a case."""

from unspool.testing.cases import Case, load_cases, parse_cases, shipped_cases
from unspool.testing.check import accumulate, assert_format, check_case, example_cases
from unspool.testing.splits import byte_splits, pieces_of

__all__ = [
    "Case",
    "accumulate",
    "assert_format",
    "byte_splits",
    "check_case",
    "example_cases",
    "load_cases",
    "parse_cases",
    "pieces_of",
    "shipped_cases",
]
