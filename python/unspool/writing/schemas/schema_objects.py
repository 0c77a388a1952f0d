"""Merges the object keywords of schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unspool.writing.schemas.merging import Merging
from unspool.writing.schemas.schema_keys import Keys
from unspool.writing.schemas.schema_keywords import Part, count_of, map_of, names_of
from unspool.writing.schemas.schema_scalars import highest, lowest

__all__ = ["merge_objects"]

MAX_KEYS = 1_000
MAX_NAMED = 5_000


def merge_objects(merger: Merging, parts: Sequence[Part], depth: int) -> Any:
    """An object's schema: its keys in order, the required ones, and the values of other keys."""
    return _Objects(merger, parts, depth).merged()


class _Objects:
    def __init__(self, merger: Merging, parts: Sequence[Part], depth: int) -> None:
        self.merger = merger
        self.parts = parts
        self.depth = depth
        self.named = [map_of(part, "properties") for part in parts]
        self.keys = Keys(merger, parts)
        self.required = list(dict.fromkeys(name for part in parts for name in names_of(part, "required")))

    def merged(self) -> Any:
        known = [name for named in self.named for name in named]
        names = list(dict.fromkeys([*known, *(self.keys.listed or ()), *self.required]))
        properties = {name: self._property(name) for name in names}
        if any(properties[name] is False for name in self.required):
            return False
        allowed = {name: node for name, node in properties.items() if node is not False}
        others, pattern = self._others(names)
        merged: dict[str, Any] = {"type": "object"}
        if names or (others is False and pattern is None):
            merged["properties"] = allowed
        if self.required:
            merged["required"] = self.required
        if pattern is not None:
            merged["patternProperties"] = {pattern: others}
            others = False
        elif others is not False:
            merged.get("properties", {}).update((name, False) for name in names if name not in allowed)
        merged["additionalProperties"] = others
        return self._counted(merged, allowed)

    def _property(self, name: str) -> Any:
        """The schema of one key, merged from all parts."""
        self.merger.parts.spend(len(self.parts))
        if self.keys.listed is not None and name not in self.keys.listed:
            return False
        found = []
        for index, part in enumerate(self.parts):
            said = self.keys.said_of(index, name)
            if name in self.named[index]:
                said.append(part.child(self.named[index][name], "properties", name))
            if not said and part.has("additionalProperties"):
                said.append(part.child(part.get("additionalProperties"), "additionalProperties"))
            found += said
        return self.merger.merge(found, self.depth + 1)

    def _others(self, names: list[str]) -> tuple[Any, str | None]:
        """The schema of unnamed keys, and their pattern; False: there are none."""
        if self.keys.listed is not None:
            return False, None
        stated = [
            part.child(part.get("additionalProperties"), "additionalProperties")
            for part in self.parts
            if part.has("additionalProperties")
        ]
        others = self.merger.merge(stated, self.depth + 1) if stated else self._unstated()
        kept = self.keys.one_pattern(names, others, bool(stated), self.depth)
        if kept is not None:
            return kept[1], kept[0]
        letters = sum(map(len, names))
        if others is False or letters > MAX_NAMED:
            return False, None
        self.merger.parts.spend(letters)
        return others, None

    def _unstated(self) -> Any:
        """The default for `additionalProperties`: if an object names keys, it has no others."""
        names_some = any(part.has("properties") or part.has("patternProperties") for part in self.parts)
        is_closed = any(part.get("unevaluatedProperties") is False for part in self.parts)
        return False if is_closed or (names_some and not self.merger.more_keys) else {}

    def _counted(self, merged: dict[str, Any], allowed: dict[str, Any]) -> Any:
        """Bounds of the number of keys, if the object is a map."""
        fewest = highest(count_of(part, "minProperties") for part in self.parts) or 0
        most = lowest(count_of(part, "maxProperties") for part in self.parts)
        is_closed = merged["additionalProperties"] is False and "patternProperties" not in merged
        if most is not None and most < max(fewest, len(self.required)):
            return False
        if is_closed and fewest > len(allowed):
            return False
        if fewest > len(self.required):
            self._count(merged, "minProperties", fewest, is_map=not allowed and not is_closed)
        if most is not None and not (is_closed and most >= len(allowed)):
            self._count(merged, "maxProperties", most, is_map=not allowed and not is_closed)
        return merged

    def _count(self, merged: dict[str, Any], keyword: str, bound: int, *, is_map: bool) -> None:
        is_first = keyword == "minProperties" and bound == 1
        if is_first or (is_map and bound <= MAX_KEYS):
            merged[keyword] = bound
            if keyword == "maxProperties" or is_first:
                return
        reason = "a grammar counts the keys of maps only, and a repeated key twice"
        self.merger.parts.drop_all(self.parts, (keyword,), reason)
