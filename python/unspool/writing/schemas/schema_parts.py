"""Collects the schemas that apply in one place: the schema itself, the target of its `$ref`, and its
`allOf`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from unspool.core.schema.references import MISSING, References
from unspool.core.schema.source import Part
from unspool.errors import ArgumentError
from unspool.writing.grammar_result import Dropped

__all__ = ["Parts"]

MAX_DEPTH = 64
MAX_WORK = 75_000


class Parts:
    """Collects the parts of a schema, with bounded work, and records what no grammar can express."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.dropped: dict[tuple[str, str], Dropped] = {}
        self._work = 0
        self._references = References(root)
        self._targets: dict[tuple[int, str], Part] = {}

    def spend(self, steps: int = 1) -> None:
        """Count work; reject a schema that needs too much."""
        self._work += steps
        if self._work > MAX_WORK:
            raise ArgumentError("the schema is too large, or its unions and references multiply; simplify it")

    def drop(self, part: Part, keyword: str, reason: str) -> None:
        self.dropped.setdefault((part.path, keyword), Dropped(part.path, keyword, reason))

    def drop_all(self, parts: Iterable[Part], keywords: Iterable[str], reason: str) -> None:
        """Drop these keywords from every part that has them."""
        for part in parts:
            for keyword in keywords:
                if part.source.has(keyword):
                    self.drop(part, keyword, reason)

    def collect(self, parts: Iterable[Part]) -> tuple[list[Part] | None, bool]:
        """Return all schemas that a value must match, and whether one came from a reference; None: no value matches.

        The targets of `allOf` and `$ref` are entries of the list, so no part of the list leads to others.
        """
        collected: dict[Any, Part] = {}
        reached = [self._add(part, collected, ()) for part in parts]
        return (None if None in reached else list(collected.values())), any(reached)

    def _add(self, part: Part, collected: dict[Any, Part], trail: tuple[Any, ...]) -> bool | None:
        """Add a part; return whether it contained a reference, or None if it is `false`."""
        self.spend()
        source = part.source
        if isinstance(source.schema, bool):
            return False if source.schema else None
        if not isinstance(source.schema, Mapping):
            raise ArgumentError(
                f"{part.path}: a schema is an object, true or false; got {type(source.schema).__name__}"
            )
        if part.key in trail:
            raise ArgumentError(f"{part.path}: the schema refers to itself and says nothing else; remove it")
        if part.key in collected:
            return False
        if len(trail) >= MAX_DEPTH:
            raise ArgumentError(
                f"{part.path}: more than {MAX_DEPTH} schemas lead to one another; simplify them"
            )
        for keyword, reason in source.checked:
            self.drop(part, keyword, reason)
        if source.checked and source.excludes_all:
            return None
        reached = False
        alone = part.alone()
        for kind in source.order:
            if kind == "keys":
                collected.setdefault(part.key, alone)  # before later ones, to keep the order of keys
            for target in self._leads(part, kind) if kind in part.leads else ():
                inner = self._add(target, collected, (*trail, part.key))
                if inner is None:
                    return None
                reached = reached or inner or kind == "reference"
        collected.setdefault(part.key, alone)
        return reached

    def _leads(self, part: Part, kind: str) -> list[Part]:
        """The schemas that a part leads to."""
        target = self._target(part) if kind == "reference" else None
        return part.source.all_of if kind == "parts" else [] if target is None else [target]

    def _target(self, part: Part) -> Part | None:
        """The target of a reference; None: it is in another document."""
        reference = part.source.reference or ""
        schema = self._references.target(part.source.schema)
        if schema is MISSING and not reference.startswith("#"):
            self.drop(part, "$ref", "the reference leads to another document, which is not fetched")
            return None
        if schema is MISSING:
            raise ArgumentError(
                f"{part.path}/$ref: {reference!r} leads nowhere; write '#/$defs/NAME' of this schema"
            )
        path = unquote(reference)
        key = id(schema), path
        if key not in self._targets:
            self._targets[key] = Part.of(schema, path)
        return self._targets[key]
