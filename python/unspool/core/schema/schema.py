"""A JSON Schema as a value of a closed set of frozen types.

    {"type": ["integer", "null"], "minimum": 1}   OneOf((Number(True, Bound(1)), Null()))
    {"$ref": "#/$defs/node"}                      Named("node")

Each of them says everything about the values that it matches, so no other schema applies beside it: `$ref`, `allOf` and
keywords next to a union have been merged. Two schemas are equal if they match the same values for the same reason, in the
same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

__all__ = [
    "Anything",
    "Boolean",
    "Bound",
    "Definitions",
    "ListOf",
    "Listed",
    "Named",
    "Nothing",
    "Null",
    "Number",
    "ObjectOf",
    "OneOf",
    "Schema",
    "Text",
    "children",
    "follow",
]


@dataclass(frozen=True)
class Anything:
    """Matches every value."""


@dataclass(frozen=True)
class Nothing:
    """Matches no value."""

    why: str = field(default="", compare=False)


@dataclass(frozen=True)
class Null:
    type: ClassVar[str] = "null"


@dataclass(frozen=True)
class Boolean:
    type: ClassVar[str] = "boolean"


@dataclass(frozen=True)
class Text:
    """Strings. With a format, there is no pattern and no length."""

    type: ClassVar[str] = "string"
    pattern: str | None = None
    format: str | None = None
    shortest: int = 0
    longest: int | None = None


@dataclass(frozen=True)
class Bound:
    """One end of a range of numbers."""

    number: int | float
    belongs: bool = True
    """Whether the number itself is in the range."""


@dataclass(frozen=True)
class Number:
    is_integer: bool = False
    lowest: Bound | None = None
    highest: Bound | None = None
    step: int | float | None = None
    """Each number is a multiple of it."""

    @property
    def type(self) -> str:
        return "integer" if self.is_integer else "number"


@dataclass(frozen=True, eq=False)
class Listed:
    """Matches strings, numbers, booleans and null that are listed one by one."""

    values: tuple[Any, ...]

    @cached_property
    def _key(self) -> tuple[tuple[type, Any], ...]:
        return tuple((type(value), value) for value in self.values)  # 1 == True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listed) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@dataclass(frozen=True)
class ListOf:
    """Lists: the schemas of the first items, and of those after them."""

    type: ClassVar[str] = "array"
    first: tuple[Schema, ...] = ()
    others: Schema = field(default_factory=Anything)
    shortest: int = 0
    longest: int | None = None

    @property
    def has_others(self) -> bool:
        """Whether there may be items after the first ones."""
        return self.longest is None or self.longest > len(self.first)


@dataclass(frozen=True)
class ObjectOf:
    """Objects: their named keys in order, and all other keys.

    Attributes:
        members: Each named key with the schema of its value; `Nothing` if the key is not allowed and other keys are.
        required: The names of the keys that each object has.
        pattern: What other keys match; None: any text.
        others: The values of other keys. `Nothing`: there are no other keys.
        fewest, most: The number of keys.
    """

    type: ClassVar[str] = "object"
    members: tuple[tuple[str, Schema], ...] = ()
    required: tuple[str, ...] = ()
    pattern: str | None = None
    others: Schema = field(default_factory=Anything)
    fewest: int = 0
    most: int | None = None

    @cached_property
    def named(self) -> Mapping[str, Schema]:
        """The members by name."""
        return dict(self.members)

    @property
    def is_closed(self) -> bool:
        """Whether there are no other keys than the named ones."""
        return isinstance(self.others, Nothing)

    @property
    def is_open(self) -> bool:
        """Whether other keys may have any name."""
        return self.pattern is None and not self.is_closed


@dataclass(frozen=True)
class OneOf:
    """Matches the values that at least one of the options matches."""

    options: tuple[Schema, ...]


@dataclass(frozen=True)
class Named:
    """Matches the values that a definition matches. A definition may lead to itself."""

    name: str


Schema: TypeAlias = (
    Anything | Nothing | Null | Boolean | Text | Number | Listed | ListOf | ObjectOf | OneOf | Named
)
Definitions: TypeAlias = Mapping[str, Schema]

_MAX_NAMES = 32


def children(schema: Schema) -> Iterator[Schema]:
    """The schemas directly in a schema."""
    match schema:
        case OneOf(options):
            yield from options
        case ListOf():
            yield from schema.first
            if schema.has_others:
                yield schema.others
        case ObjectOf():
            yield from (member for _, member in schema.members)
            yield schema.others


def follow(schema: Schema, definitions: Definitions) -> Schema:
    """Return the schema, or the definition that its name leads to. More than 32 names in a row mean any value."""
    for _ in range(_MAX_NAMES):
        if not isinstance(schema, Named):
            return schema
        schema = definitions[schema.name]
    return Anything()
