"""Schemas of keywords at random: what clients do not write, and must not break anything."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

__all__ = ["keyword_soup"]

NAMES = ["a", "b", "c", "ab", "x y"]
TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"]


def keyword_soup(seed: int, *, broken: bool = False) -> Any:
    """A schema; broken ones have values of wrong types too."""
    return _Soup(random.Random(seed), broken).document()


class _Soup:
    def __init__(self, rng: random.Random, broken: bool) -> None:
        self.rng, self.broken = rng, broken

    def document(self) -> Any:
        schema = self.schema(self.rng.randint(1, 4))
        if isinstance(schema, dict):
            schema["$defs"] = {"a": self.schema(2), "b": self.schema(2)}
        return schema

    def schema(self, depth: int) -> Any:
        if depth <= 0 or self.rng.random() < 0.05:
            plain = [{"type": self.rng.choice(TYPES)}, {}, True, {"const": self.value(2)}, False]
            return self.rng.choice([plain[0], plain[0], *plain])
        made = {}
        for _ in range(self.rng.randint(1, 4)):
            keyword = self.rng.choice(sorted(self.keywords))
            is_broken = self.broken and self.rng.random() < 0.03
            made[keyword] = self.value(1) if is_broken else self.keywords[keyword](self, depth - 1)
        return made

    def value(self, depth: int) -> Any:
        kind = self.rng.randrange(8 if depth else 5)
        if kind == 5:
            return [self.value(depth - 1) for _ in range(self.rng.randrange(3))]
        if kind == 6:
            return {name: self.value(depth - 1) for name in self.names(2)}
        return self.rng.choice(["a", "b", "abc", "", 'q"', 1, -5, 9, True, False, None, 0.5, 1.0, -2.5])

    def names(self, most: int) -> list[str]:
        return self.rng.sample(NAMES, self.rng.randint(0, most))

    def some(self, depth: int, least: int = 1) -> list[Any]:
        return [self.schema(depth) for _ in range(self.rng.randint(least, 3))]

    def patterns(self, depth: int) -> dict[str, Any]:
        return {self.rng.choice(["^a", "b$", "^x.*y$", "(?=q)"]): self.schema(depth)}

    @staticmethod
    def of(*choices: Any) -> Callable[[_Soup, int], Any]:
        return lambda soup, _depth: soup.rng.choice(choices)

    keywords: dict[str, Callable[[_Soup, int], Any]]


_of = _Soup.of
_Soup.keywords = {
    "type": _of(*TYPES, ["string", "null"], ["object", "integer"], ["number", "integer", "string"]),
    "properties": lambda soup, depth: {name: soup.schema(depth) for name in soup.names(3)},
    "required": lambda soup, _: soup.names(2),
    "additionalProperties": _Soup.schema,
    "patternProperties": _Soup.patterns,
    "propertyNames": _of({"pattern": "^[a-c]+$"}, {"enum": ["a", "b"]}, {"maxLength": 3}, False, True),
    "minProperties": _of(0, 1, 2),
    "maxProperties": _of(0, 1, 2, 3),
    "items": lambda soup, depth: soup.schema(depth) if soup.rng.random() < 0.8 else soup.some(depth),
    "prefixItems": lambda soup, depth: soup.some(depth, 0),
    "additionalItems": _Soup.schema,
    "minItems": _of(0, 1, 2),
    "maxItems": _of(0, 1, 2, 3),
    "uniqueItems": _of(True),
    "contains": _Soup.schema,
    "minLength": _of(0, 1, 2),
    "maxLength": _of(0, 1, 2, 4),
    "pattern": _of("a", "^a", "b$", "^[abc]{1,3}$", '^"$', "(?!a)", "^(a|b)*$"),
    "format": _of("date", "uuid", "iban", "email"),
    "minimum": _of(0, 1, -3, 0.5),
    "maximum": _of(3, 5, 2.5, 100),
    "exclusiveMinimum": _of(0, 1, True),
    "exclusiveMaximum": _of(5, 7.5),
    "multipleOf": _of(1, 2, 3, 0.5, 0.3),
    "enum": lambda soup, _: [soup.value(2) for _ in range(soup.rng.randint(1, 3))],
    "const": lambda soup, _: soup.value(2),
    "anyOf": _Soup.some,
    "oneOf": _Soup.some,
    "allOf": _Soup.some,
    "not": _Soup.schema,
    "if": _Soup.schema,
    "$ref": _of("#/$defs/a", "#/$defs/b", "#", "#/properties/a"),
    "nullable": _of(True),
    "dependentRequired": _of({"a": ["b"]}),
    "unevaluatedProperties": _of(False),
}
