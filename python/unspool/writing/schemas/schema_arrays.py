"""Merges the list keywords of schemas."""

from __future__ import annotations

from collections.abc import Sequence

from unspool.core.schema.schema import ListOf, Nothing, Schema
from unspool.core.schema.source import Part
from unspool.writing.schemas.merging import Merging
from unspool.writing.schemas.schema_scalars import highest, lowest

__all__ = ["merge_arrays"]

MAX_ITEMS = 1_000


def merge_arrays(merger: Merging, parts: Sequence[Part], depth: int) -> Schema:
    """A list's schema: items with individual schemas, the schema of other items, and bounds."""
    merger.parts.spend(len(parts))
    lists = [part.source.items for part in parts]
    for part, items in zip(parts, lists, strict=True):
        if items.are_unique:
            merger.parts.drop(part, "uniqueItems", "a grammar cannot compare items with one another")
    shortest = highest(items.count.least for items in lists) or 0
    longest = lowest(items.count.most for items in lists)
    places = max((len(items.first) for items in lists), default=0)
    if longest is not None:
        places = min(places, longest)
    first: list[Schema] = []
    for index in range(places):
        merger.parts.spend(len(parts))
        node = merger.merge([item for items in lists if (item := items.at(index)) is not None], depth + 1)
        if isinstance(node, Nothing):
            longest = index
            break
        first.append(node)
    rest = merger.merge([items.others for items in lists if items.others is not None], depth + 1)
    if isinstance(rest, Nothing):
        longest = len(first) if longest is None else min(longest, len(first))
    if longest is not None and shortest > longest:
        return Nothing(f"no list has at least {shortest} and at most {longest} items")
    reason = f"counting more than {MAX_ITEMS:,} items is too slow"
    if shortest > MAX_ITEMS:
        merger.parts.drop_all(parts, ("minItems",), reason)
        shortest = 0
    if longest is not None and longest > MAX_ITEMS:
        merger.parts.drop_all(parts, ("maxItems",), reason)
        longest = None
    return ListOf(tuple(first), rest, shortest, longest)
