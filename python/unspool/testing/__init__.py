"""What our tests use and others may: cases as data, and the ways to cut a stream."""

from unspool.testing.cases import Case, load_cases
from unspool.testing.splits import byte_splits, pieces_of

__all__ = ["Case", "byte_splits", "load_cases", "pieces_of"]
