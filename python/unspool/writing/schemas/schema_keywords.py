"""Access to the keywords of a schema; each keyword's type is checked when it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from unspool.core.schema.schema_check import escape_pointer
from unspool.errors import ArgumentError

__all__ = [
    "KEYWORDS_OF_TYPE",
    "TYPES",
    "Part",
    "count_of",
    "list_of",
    "map_of",
    "names_of",
    "number_of",
    "types_of",
]

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
KEYWORDS_OF_TYPE = {
    "object": (
        "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
        "maxProperties",
    ),
    "array": ("items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A schema that a value must match, and the keywords that have been handled."""

    schema: Any
    path: str
    done: frozenset[str] = frozenset()

    def get(self, keyword: str) -> Any:
        """The keyword's value; None if it is absent or handled."""
        return self.schema[keyword] if self.has(keyword) else None

    def has(self, keyword: str) -> bool:
        schema = self.schema
        is_object = type(schema) is dict or isinstance(schema, Mapping)  # the first is much faster
        return is_object and keyword in schema and keyword not in self.done

    def without(self, *keywords: str) -> Part:
        return replace(self, done=self.done.union(filter(self.has, keywords)))

    def child(self, schema: Any, *keys: object) -> Part:
        return Part(schema, "/".join((self.path, *(escape_pointer(str(key)) for key in keys))))

    @property
    def key(self) -> tuple[int, frozenset[str]]:
        return id(self.schema), self.done


def _wrong(part: Part, keyword: str, expected: str) -> ArgumentError:
    found = repr(part.get(keyword))
    return ArgumentError(f"{part.path}/{escape_pointer(keyword)}: expected {expected}; got {found[:80]}")


def list_of(part: Part, keyword: str) -> list[Any]:
    found = part.get(keyword)
    if not isinstance(found, (list, tuple)):
        raise _wrong(part, keyword, "a list")
    return list(found)


def map_of(part: Part, keyword: str) -> dict[str, Any]:
    """A keyword that maps names to schemas; empty if it is absent."""
    found = part.get(keyword) if part.has(keyword) else {}
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
        raise _wrong(part, keyword, "an object")
    for name in found:
        if any("\ud800" <= char <= "\udfff" for char in name):
            raise ArgumentError(
                f"{part.path}/{keyword}: {name!r} has a lone surrogate, which no output can hold"
            )
    return dict(found)


def names_of(part: Part, keyword: str) -> list[str]:
    found = list_of(part, keyword) if part.has(keyword) else []
    if not all(isinstance(name, str) for name in found):
        raise _wrong(part, keyword, "a list of names")
    return found


def types_of(part: Part) -> set[str] | None:
    """The types in a schema, with null if it is nullable; None: it has no type."""
    if not part.has("type"):
        return None
    stated = part.get("type")
    names = [stated] if isinstance(stated, str) else list_of(part, "type")
    if not names or not all(isinstance(name, str) and name in TYPES for name in names):
        raise _wrong(part, "type", f"one or several of {', '.join(TYPES)}")
    return {*names, "null"} if part.get("nullable") is True else set(names)


def count_of(part: Part, keyword: str) -> int | None:
    """A keyword that bounds a length or a number of items."""
    if not part.has(keyword):
        return None
    found = part.get(keyword)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or found < 0 or found != found // 1:
        raise _wrong(part, keyword, "a whole number that is not negative")
    return int(found)


def number_of(part: Part, keyword: str) -> int | float | None:
    if not part.has(keyword):
        return None
    found = part.get(keyword)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not -math.inf < found < math.inf:
        raise _wrong(part, keyword, "a number")
    return found
