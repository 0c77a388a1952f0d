"""A schema as its author wrote it, with each keyword's value as a type of Python.

The keywords are those of all drafts and of OpenAPI. They are read in groups, each once and only if it is asked for, since
keywords that say nothing of the values in question may have any value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from unspool.core.regular.format_patterns import has_pattern
from unspool.core.schema.keywords import (
    CHECKED,
    COMPOSING,
    DEFINITIONS,
    KEYWORDS_OF_TYPE,
    LISTING,
    NOT_STRICT,
    TYPES,
    UNIONS,
)
from unspool.core.schema.schema import Bound
from unspool.core.schema.schema_check import escape_pointer
from unspool.errors import ArgumentError

__all__ = ["Items", "Keys", "Lengths", "Part", "Range", "Source", "Union"]

_TYPE_OF = {keyword: name for name, keywords in KEYWORDS_OF_TYPE.items() for keyword in keywords}
_COMPOSING = frozenset(COMPOSING)
_ORDERED = {"properties": "keys", "allOf": "parts", "$ref": "reference"}
_NAME_LISTS = frozenset({"const", "minLength", "maxLength", "format", "anyOf", "oneOf", "not"})


class Source:
    """One schema of a document, and its place there.

    Attributes:
        composing: Its keywords that combine schemas.
        about: The types of values that its keywords speak of.
        order: In which order it has `properties`, "keys", and what leads to others: "parts" and "reference".
        has_listed: Whether it lists values.
        constrains: Whether it says anything of values, apart from `composing`.
        checked: Its keywords that no grammar expresses, with the reasons.

    Raises:
        ArgumentError: A property is asked for, and one of its keywords has a wrong type.
    """

    def __init__(self, schema: Any, path: str) -> None:
        said: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {}
        self.schema = schema
        self.path = path
        self._said = said
        about, composing, order, is_checked = set(), set(), [], False
        for keyword in said:
            if keyword in _TYPE_OF:
                about.add(_TYPE_OF[keyword])
            elif keyword in _COMPOSING:
                composing.add(keyword)
            is_checked = is_checked or keyword in CHECKED
            if keyword in _ORDERED:
                order.append(_ORDERED[keyword])
        self.composing = frozenset(composing)
        self.about = frozenset(about)
        self.order = tuple(order)
        self.has_type = "type" in said
        self.has_listed = not said.keys().isdisjoint(LISTING)
        self.constrains = bool(about) or self.has_listed or self.has_type
        self.checked = self._checked() if is_checked else ()

    def has(self, keyword: str) -> bool:
        return keyword in self._said

    def _checked(self) -> tuple[tuple[str, str], ...]:
        return tuple(
            (keyword, reason)
            for keyword, reason in CHECKED.items()
            if keyword in self._said and not (keyword == "not" and self._said["not"] is False)
        )

    @property
    def implied(self) -> frozenset[str]:
        """The types that its keywords imply if no schema has a type. Some values of `format` mean numbers."""
        if "format" not in self._said or has_pattern(self._said["format"]):
            return self.about
        return frozenset(
            _TYPE_OF[keyword] for keyword in self._said if keyword in _TYPE_OF and keyword != "format"
        )

    @property
    def excludes_all(self) -> bool:
        return "not" in self._said and self._said["not"] in ({}, True)

    @property
    def is_nullable(self) -> bool:
        return self._said.get("nullable") is True

    @cached_property
    def types(self) -> frozenset[str] | None:
        """The types in `type`; None: there is none."""
        return frozenset(self.type_names) if self.has_type else None

    @property
    def type_names(self) -> tuple[str, ...]:
        """The types in `type`, in its order."""
        if not self.has_type:
            return ()
        stated = self._said["type"]
        names = [stated] if isinstance(stated, str) else self._list("type")
        if not names or not all(isinstance(name, str) and name in TYPES for name in names):
            raise self._wrong("type", f"one or several of {', '.join(TYPES)}")
        return tuple(names)

    @property
    def listed(self) -> tuple[list[Any], ...]:
        """The values that each keyword lists."""
        return tuple(
            self._list(keyword) if keyword == "enum" else [self._said[keyword]]
            for keyword in LISTING
            if keyword in self._said
        )

    @property
    def enum(self) -> list[Any] | None:
        return self._list("enum") if "enum" in self._said else None

    @property
    def reference(self) -> str | None:
        reference = self._said.get("$ref")
        if reference is not None and not isinstance(reference, str):
            raise ArgumentError(f"{self.path}/$ref: a reference is a string; got {reference!r}")
        return reference

    @cached_property
    def choices(self) -> Mapping[str, list[Part]]:
        """The schemas of `allOf` and of unions, by keyword."""
        return {keyword: self._parts(keyword) for keyword in ("allOf", *UNIONS) if keyword in self._said}

    @property
    def all_of(self) -> list[Part]:
        return self.choices.get("allOf", [])

    @property
    def any_of(self) -> list[Part]:
        return self.choices.get("anyOf", [])

    @property
    def one_of(self) -> list[Part]:
        return self.choices.get("oneOf", [])

    @property
    def definitions(self) -> list[Part]:
        return [part for keyword in DEFINITIONS for part in self._map(keyword).values()]

    @property
    def suggested(self) -> list[Any]:
        """The values that its author names, those that fit best first."""
        alone = [self._said[keyword] for keyword in ("const", "default") if keyword in self._said]
        lists = [self._said.get(keyword) for keyword in ("enum", "examples")]
        return [*alone, *(value for values in lists if isinstance(values, (list, tuple)) for value in values)]

    @cached_property
    def text(self) -> Lengths:
        return Lengths(self._count("minLength"), self._count("maxLength"))

    @property
    def pattern(self) -> Any:
        return self._said.get("pattern")

    @property
    def format(self) -> Any:
        return self._said.get("format")

    @cached_property
    def range(self) -> Range:
        lowest, highest = self._bounds("Minimum"), self._bounds("Maximum")
        step = self._number("multipleOf")
        if step is not None and step <= 0:
            raise ArgumentError(f"{self.path}/multipleOf: expected a number above 0; got {step!r}")
        return Range(lowest, highest, step)

    @cached_property
    def items(self) -> Items:
        said = self._said
        # Before draft 2020-12, `items` could list the first ones.
        is_old = "prefixItems" not in said and isinstance(said.get("items"), (list, tuple))
        keyword, rest = ("items", "additionalItems") if is_old else ("prefixItems", "items")
        return Items(
            self._parts(keyword) if keyword in said else [],
            self._child(rest) if rest in said else None,
            Lengths(self._count("minItems"), self._count("maxItems")),
            said.get("uniqueItems") not in (None, False),
        )

    @property
    def has_properties(self) -> bool:
        return "properties" in self._said

    @property
    def is_object(self) -> bool:
        """Whether `type` says only that it is an object."""
        return self._said.get("type") == "object"

    @property
    def excludes_objects(self) -> bool:
        """Whether `type` has only other types. It may be malformed."""
        stated = self._said.get("type")
        return stated is not None and "object" not in (stated if isinstance(stated, list) else [stated])

    @property
    def says_type(self) -> bool:
        """Whether it says itself, or by a reference or a union, which types its values have."""
        return any(keyword in self._said for keyword in ("type", "$ref", "anyOf", *LISTING))

    @property
    def not_strict(self) -> str | None:
        """The first keyword that strict mode rejects."""
        return next(filter(self.has, NOT_STRICT), None)

    @cached_property
    def keys(self) -> Keys:
        named, patterns = self._map("properties"), self._map("patternProperties")
        return Keys(
            named,
            self._names("required"),
            patterns,
            self._child("additionalProperties") if "additionalProperties" in self._said else None,
            self._child("propertyNames") if "propertyNames" in self._said else None,
            "properties" in self._said or "patternProperties" in self._said,
            self._said.get("unevaluatedProperties") is False,
        )

    @property
    def key_count(self) -> Lengths:
        return Lengths(self._count("minProperties"), self._count("maxProperties"))

    @property
    def limits_names(self) -> bool:
        """Whether it constrains the names of keys otherwise than by a pattern or a list."""
        return not _NAME_LISTS.isdisjoint(self._said)

    def _child(self, *keys: Any) -> Part:
        schema = self._said
        for key in keys:
            schema = schema[key]
        return Part.of(schema, "/".join((self.path, *(escape_pointer(str(key)) for key in keys))))

    def _parts(self, keyword: str) -> list[Part]:
        return [self._child(keyword, index) for index in range(len(self._list(keyword)))]

    def _wrong(self, keyword: str, expected: str) -> ArgumentError:
        found = repr(self._said[keyword])
        return ArgumentError(f"{self.path}/{escape_pointer(keyword)}: expected {expected}; got {found[:80]}")

    def _list(self, keyword: str) -> list[Any]:
        found = self._said[keyword]
        if not isinstance(found, (list, tuple)):
            raise self._wrong(keyword, "a list")
        return list(found)

    def _map(self, keyword: str) -> dict[str, Part]:
        found = self._said.get(keyword, {})
        if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
            raise self._wrong(keyword, "an object")
        for name in found:
            if any("\ud800" <= char <= "\udfff" for char in name):
                raise ArgumentError(
                    f"{self.path}/{keyword}: {name!r} has a lone surrogate, which no output can hold"
                )
        return {name: self._child(keyword, name) for name in found}

    def _names(self, keyword: str) -> list[str]:
        found = self._list(keyword) if keyword in self._said else []
        if not all(isinstance(name, str) for name in found):
            raise self._wrong(keyword, "a list of names")
        return found

    def _count(self, keyword: str) -> int | None:
        if keyword not in self._said:
            return None
        found = self._said[keyword]
        if isinstance(found, bool) or not isinstance(found, (int, float)) or found < 0 or found != found // 1:
            raise self._wrong(keyword, "a whole number that is not negative")
        return int(found)

    def _number(self, keyword: str) -> int | float | None:
        if keyword not in self._said:
            return None
        found = self._said[keyword]
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not -math.inf < found < math.inf:
            raise self._wrong(keyword, "a number")
        return found

    def _bounds(self, side: str) -> list[Bound]:
        exclusive = f"exclusive{side}"
        number = self._number(side.lower())
        flag = self._said.get(exclusive)
        if isinstance(flag, bool):  # draft 4: a flag next to the bound
            return [] if number is None else [Bound(number, not flag)]
        found = [(number, True), (self._number(exclusive), False)]
        return [Bound(bound, belongs) for bound, belongs in found if bound is not None]


@dataclass(frozen=True, slots=True)
class Lengths:
    """Bounds of a number of characters, items or keys."""

    least: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class Range:
    """What a schema says of numbers; each side may have two bounds."""

    lowest: list[Bound]
    highest: list[Bound]
    step: int | float | None


@dataclass(frozen=True, slots=True)
class Items:
    """What a schema says of the items of a list."""

    first: list[Part]
    others: Part | None
    count: Lengths
    are_unique: bool

    def at(self, index: int) -> Part | None:
        """The schema of the item at this place."""
        return self.first[index] if index < len(self.first) else self.others


@dataclass(frozen=True, slots=True)
class Keys:
    """What a schema says of the keys of an object.

    Attributes:
        names_some: Whether it has `properties` or `patternProperties`, which may be empty.
        is_sealed: Whether keys that no schema names are not allowed.
    """

    named: Mapping[str, Part]
    required: list[str]
    patterns: Mapping[str, Part]
    others: Part | None
    names: Part | None
    names_some: bool
    is_sealed: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A schema that a value must match, and those of its `composing` keywords that are still to be merged."""

    source: Source
    left: frozenset[str]

    @classmethod
    def of(cls, schema: Any, path: str) -> Part:
        source = Source(schema, path)
        return cls(source, source.composing)

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def key(self) -> tuple[int, frozenset[str]]:
        """Equal for equal parts of the document."""
        return id(self.source.schema), self.left

    @property
    def union(self) -> Union | None:
        """The first union that is still to be merged."""
        keyword = next(filter(self.left.__contains__, UNIONS), None)
        if keyword is None:
            return None
        rest = replace(self, left=self.left - {keyword})
        return Union(self, rest, self.source.choices[keyword], keyword == "oneOf")

    @property
    def leads(self) -> frozenset[str]:
        """Which of `Source.order` leads to schemas that are still to be merged."""
        return frozenset(_ORDERED[keyword] for keyword in self.left if keyword in _ORDERED)

    @property
    def constrains(self) -> bool:
        return self.source.constrains or not self.left.isdisjoint(UNIONS)

    @property
    def is_nullable(self) -> bool:
        return "nullable" in self.left and self.source.is_nullable

    @property
    def adds_null(self) -> bool:
        """Whether a schema is nullable but its type is elsewhere, as in OpenAPI 3.0."""
        return self.is_nullable and len(self.left) > 1 and not self.source.has_type

    @property
    def types(self) -> frozenset[str] | None:
        """The types that it states, with null if it is nullable; None: it states none."""
        types = self.source.types
        return types | {"null"} if types is not None and self.is_nullable else types

    def alone(self) -> Part:
        """The same part after the schemas that it leads to have been merged."""
        return replace(self, left=self.left.difference(_ORDERED))

    def not_null(self) -> Part:
        """The same part after `nullable` has been merged."""
        return replace(self, left=self.left - {"nullable"})


@dataclass(frozen=True, slots=True)
class Union:
    """One union of a part, and the part without it."""

    part: Part
    rest: Part
    choices: list[Part]
    is_exclusive: bool
    """Whether a value matches one choice only."""
