"""Merges the object keywords of schemas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unspool.core.schema.schema import Anything, Nothing, ObjectOf, Schema
from unspool.core.schema.source import Part
from unspool.writing.schemas.merging import Merging
from unspool.writing.schemas.schema_keys import Keys
from unspool.writing.schemas.schema_scalars import highest, lowest

__all__ = ["merge_objects"]

MAX_KEYS = 1_000
MAX_NAMED = 5_000


def merge_objects(merger: Merging, parts: Sequence[Part], depth: int) -> Schema:
    """An object's schema: its keys in order, the required ones, and the values of other keys."""
    return _Objects(merger, parts, depth).merged()


class _Objects:
    def __init__(self, merger: Merging, parts: Sequence[Part], depth: int) -> None:
        self.merger = merger
        self.parts = parts
        self.depth = depth
        self.said = [part.source.keys for part in parts]
        self.keys = Keys(merger, parts)
        self.required = list(dict.fromkeys(name for keys in self.said for name in keys.required))

    def merged(self) -> Schema:
        known = [name for keys in self.said for name in keys.named]
        names = list(dict.fromkeys([*known, *(self.keys.listed or ()), *self.required]))
        members = {name: self._property(name) for name in names}
        for name in self.required:
            if isinstance(value := members[name], Nothing):
                return Nothing(f"the required key {name!r:.80}: {value.why:.300}")
        others, pattern = self._others(names)
        if pattern is not None or isinstance(
            others, Nothing
        ):  # the keys that are not allowed need no mention
            members = {name: value for name, value in members.items() if not isinstance(value, Nothing)}
        allowed = [item for item in members.items() if not isinstance(item[1], Nothing)]
        forbidden = [item for item in members.items() if isinstance(item[1], Nothing)]
        schema = ObjectOf((*allowed, *forbidden), tuple(self.required), pattern, others)
        return self._counted(schema, len(allowed))

    def _property(self, name: str) -> Schema:
        """The schema of one key, merged from all parts."""
        self.merger.parts.spend(len(self.parts))
        if self.keys.listed is not None and name not in self.keys.listed:
            return Nothing(f"propertyNames does not list the key {name!r:.80}")
        parts = []
        for index, keys in enumerate(self.said):
            said = self.keys.said_of(index, name)
            if name in keys.named:
                said.append(keys.named[name])
            if not said and keys.others is not None:
                said.append(keys.others)
            parts += said
        return self.merger.merge(parts, self.depth + 1)

    def _others(self, names: list[str]) -> tuple[Schema, str | None]:
        """The schema of unnamed keys, and their pattern; Nothing: there are none."""
        if self.keys.listed is not None:
            return Nothing("propertyNames lists all keys"), None
        stated = [keys.others for keys in self.said if keys.others is not None]
        others = self.merger.merge(stated, self.depth + 1) if stated else self._unstated()
        kept = self.keys.one_pattern(names, others, bool(stated), self.depth)
        if kept is not None:
            return kept[1], kept[0]
        letters = sum(map(len, names))
        if isinstance(others, Nothing):
            return others, None
        if letters > MAX_NAMED:
            return Nothing("other keys than so many are not spelled out"), None
        self.merger.parts.spend(letters)
        return others, None

    def _unstated(self) -> Schema:
        """The default for `additionalProperties`: if an object names keys, it has no others."""
        names_some = any(keys.names_some for keys in self.said)
        is_closed = any(keys.is_sealed for keys in self.said)
        is_closed = is_closed or (names_some and not self.merger.more_keys)
        return Nothing("the object names its keys") if is_closed else Anything()

    def _counted(self, schema: ObjectOf, allowed: int) -> Schema:
        """Bounds of the number of keys, if the object is a map."""
        fewest = highest(part.source.key_count.least for part in self.parts) or 0
        most = lowest(part.source.key_count.most for part in self.parts)
        if most is not None and most < max(fewest, len(self.required)):
            return Nothing(f"no object has at most {most} keys and all the keys that it needs")
        if schema.is_closed and fewest > allowed:
            return Nothing(f"no object has {fewest} of {allowed} keys")
        is_map = not allowed and not schema.is_closed
        counted = most if most is not None and not (schema.is_closed and most >= allowed) else None
        return replace(
            schema,
            fewest=self._fewest(fewest, is_map) if fewest > len(self.required) else 0,
            most=None if counted is None else self._most(counted, is_map),
        )

    def _fewest(self, bound: int, is_map: bool) -> int:
        if bound > 1:
            self._drop("minProperties")
        return bound if bound == 1 or (is_map and bound <= MAX_KEYS) else 0

    def _most(self, bound: int, is_map: bool) -> int | None:
        is_kept = is_map and bound <= MAX_KEYS
        if not is_kept:
            self._drop("maxProperties")
        return bound if is_kept else None

    def _drop(self, keyword: str) -> None:
        reason = "a grammar counts the keys of maps only, and a repeated key twice"
        self.merger.parts.drop_all(self.parts, (keyword,), reason)
