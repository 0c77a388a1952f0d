"""Merges the keywords of schemas for unnamed keys: `patternProperties` and `propertyNames`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unspool.core.regular.match_pattern import Matcher
from unspool.core.regular.schema_patterns import PatternError, parse_pattern
from unspool.core.schema.schema import Nothing, Schema
from unspool.writing.schemas.merging import Merging
from unspool.writing.schemas.pattern_lengths import most_counted
from unspool.writing.schemas.schema_keywords import Part, list_of, map_of

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
            if part.has("propertyNames"):
                self._read_names(part)

    def said_of(self, index: int, name: str) -> list[Part]:
        """The schemas that the patterns of one part define for a key."""
        part, said = self._parts[index], []
        for pattern, matcher in self._matchers[index].items():
            self._merger.parts.spend(1 + len(name) // 8)
            if matcher is not None and matcher.matches(name):
                said.append(self._value(part, pattern))
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
                        part, "patternProperties", pattern, [self._value(part, pattern)], others, names, depth
                    )
        for part, pattern in self._names:
            if names or kept is not None or is_closed:
                self._merger.parts.drop(part, "propertyNames", _ONE_PATTERN)
            else:
                kept = self._keep(part, "propertyNames", pattern, [], others, names, depth)
        return kept

    def _value(self, part: Part, pattern: str) -> Part:
        return part.child(part.get("patternProperties")[pattern], "patternProperties", pattern)

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
        for pattern in map_of(part, "patternProperties"):
            try:
                found[pattern] = Matcher(parse_pattern(pattern))
            except PatternError as error:
                found[pattern] = None
                self._merger.parts.drop(part, "patternProperties", str(error))
        return found

    def _read_names(self, part: Part) -> None:
        found, _ = self._merger.parts.collect([part.child(part.get("propertyNames"), "propertyNames")])
        if found is None:
            self.listed = {}
            return
        for names in found:
            if names.has("enum"):
                allowed = dict.fromkeys(name for name in list_of(names, "enum") if isinstance(name, str))
                known = allowed if self.listed is None else self.listed
                self.listed = {name: None for name in known if name in allowed}
            if names.has("pattern"):
                self._names.append((part, names.get("pattern")))
            left = {"const", "minLength", "maxLength", "format", "anyOf", "oneOf", "not"}
            if any(names.has(keyword) for keyword in left):
                self._merger.parts.drop(
                    part, "propertyNames", "matchers read a pattern or a list of keys only"
                )
