"""Merges the list keywords of schemas."""

from __future__ import annotations

from collections.abc import Sequence

from unspool.core.schema.schema import ListOf, Nothing, Schema
from unspool.writing.schemas.merging import Merging
from unspool.writing.schemas.schema_keywords import Part, count_of, list_of
from unspool.writing.schemas.schema_scalars import highest, lowest

__all__ = ["merge_arrays"]

MAX_ITEMS = 1_000


def merge_arrays(merger: Merging, parts: Sequence[Part], depth: int) -> Schema:
    """A list's schema: items with individual schemas, the schema of other items, and bounds."""
    merger.parts.spend(len(parts))
    for part in parts:
        if part.get("uniqueItems") not in (None, False):
            merger.parts.drop(part, "uniqueItems", "a grammar cannot compare items with one another")
    shortest = highest(count_of(part, "minItems") for part in parts) or 0
    longest = lowest(count_of(part, "maxItems") for part in parts)
    lists = [_Items(part) for part in parts]
    places = max((len(items.first) for items in lists), default=0)
    if longest is not None:
        places = min(places, longest)
    first: list[Schema] = []
    for index in range(places):
        merger.parts.spend(len(parts))
        node = merger.merge([item for items in lists for item in items.at(index)], depth + 1)
        if isinstance(node, Nothing):
            longest = index
            break
        first.append(node)
    rest = merger.merge([item for items in lists for item in items.others()], depth + 1)
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


class _Items:
    """A schema's keywords for the items of a list. Before draft 2020-12, `items` could list the first ones."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._is_old = not part.has("prefixItems") and isinstance(part.get("items"), (list, tuple))
        self._keyword = "items" if self._is_old else "prefixItems"
        #: The schemas of the first items.
        self.first = list_of(part, self._keyword) if part.has(self._keyword) else []

    def at(self, index: int) -> list[Part]:
        """The schemas of the item at this place."""
        if index >= len(self.first):
            return self.others()
        return [self._part.child(self.first[index], self._keyword, index)]

    def others(self) -> list[Part]:
        """The schemas of the items after the first ones."""
        keyword = "additionalItems" if self._is_old else "items"
        return [self._part.child(self._part.get(keyword), keyword)] if self._part.has(keyword) else []
