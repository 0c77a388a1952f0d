"""Merges all keywords that one value must match into one schema."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from unspool.core.schema.keywords import TYPES
from unspool.core.schema.schema import Anything, Boolean, Named, Nothing, Null, OneOf, Schema
from unspool.core.schema.source import Part, Union
from unspool.errors import ArgumentError
from unspool.writing.schemas.schema_arrays import merge_arrays
from unspool.writing.schemas.schema_enums import merge_values
from unspool.writing.schemas.schema_objects import merge_objects
from unspool.writing.schemas.schema_parts import MAX_DEPTH, Parts
from unspool.writing.schemas.schema_scalars import merge_numbers, merge_strings

__all__ = ["Merger", "any_of"]


class Merger:
    """Merges schemas of one document; the targets of references become `definitions`."""

    def __init__(self, root: Any, longest: int, *, more_keys: bool = False) -> None:
        self.parts = Parts(root)
        self.longest = longest
        self.more_keys = more_keys
        self.definitions: dict[str, Schema] = {}
        self.is_implied = False
        """Whether a type was added to a schema without one."""
        self.exclusive: list[tuple[Part, list[Schema]]] = []
        self._names: dict[frozenset[Any], str] = {}
        self._stems: dict[str, int] = {}
        self._waiting: deque[tuple[str, list[Part]]] = deque()

    def merge_document(self, *beside: Mapping[str, Any]) -> Schema:
        """Return the schema of the root merged with `beside`; also merge every definition that it needs."""
        root = self.merge([Part.of(schema, "#") for schema in (self.parts.root, *beside)], 0)
        while self._waiting:
            name, parts = self._waiting.popleft()
            self.definitions[name] = self._merge_parts(parts, 0)
        return root

    def merge(self, parts: Sequence[Part], depth: int) -> Schema:
        """The schema of a value that matches all parts."""
        if depth > MAX_DEPTH:
            raise ArgumentError(
                f"{parts[0].path}: the schema nests deeper than {MAX_DEPTH} levels; use $defs, or simplify it"
            )
        if parts and all(part.adds_null for part in parts):
            inner = self.merge([part.not_null() for part in parts], depth + 1)
            return any_of([inner, Null()])
        collected, through_reference = self.parts.collect(parts)
        if collected is None:
            return Nothing(f"{parts[0].path} allows no value")
        collected = [part for part in collected if part.constrains]
        if not collected:
            return Anything()
        return self._reference(collected) if through_reference else self._merge_parts(collected, depth)

    def _reference(self, parts: list[Part]) -> Schema:
        """A reference to the definition that merges these parts."""
        key = frozenset(part.key for part in parts)
        name = self._names.get(key)
        if name is None:
            stem = re.sub(r"[^A-Za-z0-9]+", "_", parts[0].path.split("/")[-1]).strip("_")[:40] or "root"
            number = self._stems[stem] = self._stems.get(stem, 0) + 1
            name = stem if number == 1 else f"{stem}__{number}"  # no stem contains two underscores
            self._names[key] = name
            self.definitions[name] = Anything()
            self._waiting.append((name, parts))
        return Named(name)

    def _merge_parts(self, parts: list[Part], depth: int) -> Schema:
        self.parts.spend(len(parts))
        for index, part in enumerate(parts):
            if (union := part.union) is not None:
                return self._union(union, [*parts[:index], union.rest, *parts[index + 1 :]], depth)
        types = self._types(parts)
        if any(part.source.has_listed for part in parts):
            return any_of(merge_values(self, parts, types, depth))
        if types == set(TYPES) and not any(part.source.about for part in parts):
            return Anything()
        if "number" in types:
            types = types - {"integer"}
        return any_of([self.merge_type(name, parts, depth) for name in TYPES if name in types])

    def _union(self, union: Union, parts: list[Part], depth: int) -> Schema:
        """One schema per choice, merged with the keywords next to the union."""
        rest = [part for part in parts if part.constrains]
        merged = [self.merge([*rest, choice], depth + 1) for choice in union.choices]
        if union.is_exclusive:
            self.exclusive.append((union.part, merged))
        return any_of(merged)

    def _types(self, parts: Sequence[Part]) -> set[str]:
        """The types that all parts allow; if none has a type, the one implied by the other keywords."""
        left, is_stated = set(TYPES), False
        for part in parts:
            stated = part.types
            if stated is not None:
                is_stated = True
                left &= stated | ({"integer"} if "number" in stated else set())
        if is_stated or any(part.source.has_listed for part in parts):
            return left
        implied = set[str]().union(*(part.source.implied for part in parts))
        if len(implied) != 1:
            return left
        self.is_implied = True
        return implied

    def merge_type(self, name: str, parts: Sequence[Part], depth: int) -> Schema:
        """Merge what the parts define for values of one type."""
        if name == "object":
            return merge_objects(self, parts, depth)
        if name == "array":
            return merge_arrays(self, parts, depth)
        if name == "string":
            return merge_strings(self.parts, parts, self.longest)
        if name in ("number", "integer"):
            return merge_numbers(self.parts, parts, name)
        return Boolean() if name == "boolean" else Null()


def any_of(options: Sequence[Schema]) -> Schema:
    """A union in its shortest form."""
    flat: list[Schema] = []
    for option in options:
        for schema in option.options if isinstance(option, OneOf) else (option,):
            if isinstance(schema, Anything):
                return schema
            if not isinstance(schema, Nothing) and schema not in flat[-_COMPARED:]:
                flat.append(schema)
    if not flat:
        return next(iter(options), Nothing("its keywords contradict one another"))
    return flat[0] if len(flat) == 1 else OneOf(tuple(flat))


_COMPARED = 8  # equal choices are usually close together; comparing all of them is quadratic
