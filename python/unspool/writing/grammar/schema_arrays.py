"""Merges the list keywords of schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unspool.writing.grammar.merging import Merging
from unspool.writing.grammar.schema_keywords import Part, count_of, list_of
from unspool.writing.grammar.schema_scalars import highest, lowest

__all__ = ["merge_arrays"]

MAX_ITEMS = 1_000


def merge_arrays(merger: Merging, parts: Sequence[Part], depth: int) -> Any:
    """A list's schema: items with individual schemas, the schema of other items, and bounds."""
    merger.parts.spend(len(parts))
    for part in parts:
        if part.get("uniqueItems") not in (None, False):
            merger.parts.drop(part, "uniqueItems", "a grammar cannot compare items with one another")
    shortest = highest(count_of(part, "minItems") for part in parts) or 0
    longest = lowest(count_of(part, "maxItems") for part in parts)
    places = max((len(_places(part)) for part in parts), default=0)
    if longest is not None:
        places = min(places, longest)
    prefix: list[Any] = []
    for index in range(places):
        merger.parts.spend(len(parts))
        node = merger.merge([item for part in parts for item in _item(part, index)], depth + 1)
        if node is False:
            longest = index
            break
        prefix.append(node)
    rest = merger.merge([item for part in parts for item in _item(part, None)], depth + 1)
    if rest is False:
        longest = len(prefix) if longest is None else min(longest, len(prefix))
    if longest is not None and shortest > longest:
        return False
    merged: dict[str, Any] = {"type": "array"}
    if prefix:
        merged["prefixItems"] = prefix
    if longest is None or longest > len(prefix):
        merged["items"] = rest
    for keyword, bound in (("minItems", shortest or None), ("maxItems", longest)):
        if bound is not None and bound <= MAX_ITEMS:
            merged[keyword] = bound
        elif bound is not None:
            reason = f"counting more than {MAX_ITEMS:,} items is too slow"
            merger.parts.drop_all(parts, (keyword,), reason)
    return merged


def _places(part: Part) -> list[Any]:
    """The schemas of the first items; before draft 2020-12 `items` could list them."""
    if part.has("prefixItems"):
        return list_of(part, "prefixItems")
    return list_of(part, "items") if isinstance(part.get("items"), (list, tuple)) else []


def _item(part: Part, index: int | None) -> list[Part]:
    """The schemas of the item at an index; None: of the items after those with individual schemas."""
    places = _places(part)
    is_old = not part.has("prefixItems") and isinstance(part.get("items"), (list, tuple))
    if index is not None and index < len(places):
        return [part.child(places[index], "items" if is_old else "prefixItems", index)]
    keyword = "additionalItems" if is_old else "items"
    return [part.child(part.get(keyword), keyword)] if part.has(keyword) else []
