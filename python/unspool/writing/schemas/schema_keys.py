"""Merges the keywords of schemas for unnamed keys: `patternProperties` and `propertyNames`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unspool.core.regular.match_pattern import Matcher
from unspool.core.regular.schema_patterns import PatternError, parse_pattern
from unspool.core.schema.schema import Nothing, Schema
from unspool.core.schema.source import Part
from unspool.writing.schemas.merging import Merging
from unspool.writing.schemas.pattern_lengths import most_counted

__all__ = ["Keys"]

_ONE_PATTERN = "a grammar has one pattern for keys, and none that fits a named key"


class Keys:
    """The patterns of keys, and the keys that `propertyNames` lists."""

    def __init__(self, merger: Merging, parts: Sequence[Part]) -> None:
        self._merger = merger
        self._matchers = [self._read(part) for part in parts]
        self._parts = parts
        self.listed: dict[str, None] | None = None
        self._names: list[tuple[Part, Any]] = []
        for part in parts:
            if (names := part.source.keys.names) is not None:
                self._read_names(part, names)

    def said_of(self, index: int, name: str) -> list[Part]:
        """The schemas that the patterns of one part define for a key."""
        part, said = self._parts[index], []
        for pattern, matcher in self._matchers[index].items():
            self._merger.parts.spend(1 + len(name) // 8)
            if matcher is not None and matcher.matches(name):
                said.append(part.source.keys.patterns[pattern])
        return said

    def one_pattern(
        self, names: Sequence[str], others: Schema, is_stated: bool, depth: int
    ) -> tuple[str, Schema] | None:
        """The only key pattern that can be kept, with the schema of its values; the others are dropped."""
        kept, is_closed = None, isinstance(others, Nothing)
        for part, matchers in zip(self._parts, self._matchers, strict=True):
            for pattern, matcher in matchers.items():
                fits_name = matcher is None or any(map(matcher.matches, names))
                if fits_name or kept is not None or (is_stated and not is_closed):
                    self._merger.parts.drop(part, "patternProperties", _ONE_PATTERN)
                else:
                    kept = self._keep(
                        part,
                        "patternProperties",
                        pattern,
                        [part.source.keys.patterns[pattern]],
                        others,
                        names,
                        depth,
                    )
        for part, pattern in self._names:
            if names or kept is not None or is_closed:
                self._merger.parts.drop(part, "propertyNames", _ONE_PATTERN)
            else:
                kept = self._keep(part, "propertyNames", pattern, [], others, names, depth)
        return kept

    def _keep(
        self,
        part: Part,
        keyword: str,
        pattern: Any,
        value: list[Part],
        others: Schema,
        names: Sequence[str],
        depth: int,
    ) -> tuple[str, Schema] | None:
        try:
            count = most_counted(parse_pattern(pattern))
        except PatternError as error:
            self._merger.parts.drop(part, keyword, str(error))
            return None
        if count > self._merger.longest:
            self._merger.parts.drop(part, keyword, "the pattern counts too many characters for the engine")
            if names:
                return None
            pattern = ""  # any key, rather than none
        return pattern, self._merger.merge(value, depth + 1) if value else others

    def _read(self, part: Part) -> dict[str, Matcher | None]:
        """Matchers for key patterns; None: the pattern cannot be parsed."""
        found: dict[str, Matcher | None] = {}
        for pattern in part.source.keys.patterns:
            try:
                found[pattern] = Matcher(parse_pattern(pattern))
            except PatternError as error:
                found[pattern] = None
                self._merger.parts.drop(part, "patternProperties", str(error))
        return found

    def _read_names(self, part: Part, names: Part) -> None:
        collected, _ = self._merger.parts.collect([names])
        if collected is None:
            self.listed = {}
            return
        for source in (schema.source for schema in collected):
            if source.enum is not None:
                allowed = dict.fromkeys(name for name in source.enum if isinstance(name, str))
                known = allowed if self.listed is None else self.listed
                self.listed = {name: None for name in known if name in allowed}
            if source.pattern is not None:
                self._names.append((part, source.pattern))
            if source.limits_names:
                self._merger.parts.drop(
                    part, "propertyNames", "matchers read a pattern or a list of keys only"
                )
