"""The interface of `schema_merge.Merger` that its parts need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from unspool.core.schema.schema import Schema
from unspool.core.schema.source import Part
from unspool.writing.schemas.schema_parts import Parts

__all__ = ["Merging"]


class Merging(Protocol):
    """Merges schemas of one document."""

    parts: Parts
    longest: int
    more_keys: bool

    def merge(self, parts: Sequence[Part], depth: int) -> Schema:
        """The schema of a value that matches all parts."""

    def merge_type(self, name: str, parts: Sequence[Part], depth: int) -> Schema:
        """Merge what the parts define for values of one type."""
