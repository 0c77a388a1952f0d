"""Schemas at random, in the manner of those that are public, and damaged ones."""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.writing.grammar.keyword_soup import keyword_soup

__all__ = ["KINDS", "draw_schema"]

NAMES = [
    "id",
    "name",
    "type",
    "items",
    "createdAt",
    "$ref",
    "x-kubernetes-y",
    "日本",
    'say "hi"',
    "",
    "a/b~c",
    "A",
]
ODD: list[Any] = [
    None, True, -1, 0, 2**63, 1e308, 0.1, "", "x" * 3000, "\x00", "\ud800", [], {}, [[]], {"$ref": "#"}, {"not": {}},
]  # fmt: skip


class _Kinds:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def _names(self, least: int, most: int) -> list[str]:
        names = [*NAMES, *(f"field{number}" for number in range(20))]
        return self.rng.sample(names, self.rng.randint(least, most))

    def _leaf(self) -> dict[str, Any]:
        leaves: list[dict[str, Any]] = [
            {"type": "string"}, {"type": "string", "maxLength": 255}, {"type": "string", "minLength": 1},
            {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}, {"type": "string", "format": "date-time"},
            {"type": "string", "pattern": r"^\d{4}-\d{2}$"}, {"enum": ["a", "b", "c"]}, {"type": "boolean"},
            {"type": "integer", "minimum": 0, "maximum": 65535}, {"type": "number"}, {"const": "v1"},
            {"type": "number", "multipleOf": 0.01}, {"type": ["string", "null"]}, {"type": "string", "format": "uri"},
        ]  # fmt: skip
        return copy.deepcopy(self.rng.choice(leaves))

    def _object(self, part: Callable[[], Any], **more: Any) -> dict[str, Any]:
        properties = {name: part() for name in self._names(0, 8)}
        required = [name for name in properties if self.rng.random() < 0.4]
        return {"type": "object", "properties": properties, "required": required, **more}

    def function(self) -> Any:
        """The parameters of a function, as for tool calls."""
        return self._object(lambda: {**self._leaf(), "description": "What it is."})

    def repository(self) -> Any:
        """A file's schema in a repository: draft 4, definitions, arrays of objects."""
        part = self._object(self._leaf, additionalProperties=self.rng.random() < 0.5)
        schema = self._object(
            lambda: self.rng.choice([
                self._leaf(), {"$ref": "#/definitions/part"}, {"type": "array", "items": {"$ref": "#/definitions/part"}},
                {"type": "array", "items": self._leaf(), "minItems": 1, "maxItems": self.rng.randint(1, 9)},
                {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
            ])
        )  # fmt: skip
        return {"$schema": "http://json-schema.org/draft-04/schema#", **schema, "definitions": {"part": part}}

    def event(self) -> Any:
        """A tracked event: flat and closed, most of it may be null."""
        return self._object(
            lambda: {"type": ["string", "null"], "maxLength": 255}, additionalProperties=False
        )

    def cluster(self) -> Any:
        """A cluster's resource: definitions that lead to one another, and back."""
        names = [f"io.api.v1.T{number}" for number in range(self.rng.randint(2, 30))]
        links = [{"$ref": f"#/definitions/{name}"} for name in names]

        def part() -> Any:
            link = self.rng.choice(links)
            choices = [
                self._leaf(),
                link,
                {"type": "array", "items": link},
                {"type": "object", "additionalProperties": link},
            ]
            return self.rng.choice(choices)

        return {**self._object(part), "definitions": {name: self._object(part) for name in names}}

    def article(self) -> Any:
        """A publisher's story: allOf of definitions, one of several kinds of element."""
        kinds = [self._object(self._leaf) for _ in range(self.rng.randint(1, 5))]
        for number, kind in enumerate(kinds):
            kind["properties"]["type"] = {"enum": [f"kind{number}"]}
            kind["required"] = [*dict.fromkeys([*kind["required"], "type"])]
        elements = {"type": "array", "items": {self.rng.choice(["oneOf", "anyOf"]): kinds}}
        return {
            "allOf": [{"$ref": "#/$defs/base"}, {"type": "object", "properties": {"elements": elements}}],
            "$defs": {"base": self._object(self._leaf)},
        }

    def settings(self) -> Any:
        """A tool's configuration: patterns of keys, conditions, alternatives."""
        schema = self._object(
            lambda: self.rng.choice([
                self._leaf(), {"anyOf": [self._leaf(), {"type": "array", "items": self._leaf()}]},
                {"oneOf": [{"type": "boolean"}, self._object(self._leaf)]}, {"not": self._leaf()},
                {"type": "object", "patternProperties": {"^x-": self._leaf()}, "additionalProperties": self._leaf()},
                {"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}},
                {"type": "array", "uniqueItems": True, "contains": self._leaf()},
            ])
        )  # fmt: skip
        if self.rng.random() < 0.5:
            schema |= {
                "if": self._object(self._leaf),
                "then": {"required": ["id"]},
                "else": self._object(self._leaf),
            }
        return schema

    def large(self) -> Any:
        """Many of one thing."""
        count = self.rng.choice([50, 500, 2_500, 4_000, 30_000])
        names = [f"k{number}" for number in range(count)]
        leaf, chain = self._leaf(), {}
        for number in range(count):
            chain[f"d{number}"] = {"type": "object", "properties": {"a": {"$ref": f"#/$defs/d{number + 1}"}}}
        nest: Any = leaf
        for _ in range(min(count, 150)):
            nest = {"type": "object", "properties": {"a": nest}}
        return self.rng.choice([
            {"type": "object", "properties": dict.fromkeys(names, leaf), "required": names[:: self.rng.choice([1, 2, 7])]},
            {"type": "object", "properties": dict.fromkeys(names, leaf)}, {"enum": names}, {"const": names}, nest,
            {"anyOf": [{"type": "object", "properties": {name: leaf}, "required": [name]} for name in names]},
            {"allOf": [{"minLength": number % 9} for number in range(count)], "type": "string"},
            {"type": "array", "prefixItems": [leaf] * count, "minItems": self.rng.choice([0, count])},
            {"$ref": "#/$defs/d0", "$defs": {**chain, f"d{count}": leaf}},
            {"type": "string", "minLength": count, "maxLength": 2 * count}, {"type": "string", "pattern": f"^a{{{count}}}$"},
            {"type": "array", "items": leaf, "minItems": count}, {"type": "object", "properties": {"x" * count * 9: leaf}},
        ])  # fmt: skip

    def soup(self) -> Any:
        """Any keywords."""
        return keyword_soup(self.rng.randrange(2**32), broken=self.rng.random() < 0.3)


KINDS: dict[str, Callable[[_Kinds], Any]] = {
    name: getattr(_Kinds, name)
    for name in ("function", "repository", "event", "cluster", "article", "settings", "large", "soup")
}


def draw_schema(rng: random.Random) -> Any:
    """A schema of one of the kinds; half of them are damaged in a few places."""
    schema = KINDS[rng.choice(list(KINDS))](_Kinds(rng))
    if rng.random() < 0.5:
        schema = {"schema": copy.deepcopy(schema)}
        for _ in range(rng.randint(1, 4)):
            _damage(rng, schema)
        schema = schema.get("schema", True)
    return schema


def _damage(rng: random.Random, schema: Any) -> None:
    """Change one place: a value, a name, or a part for another one."""
    nodes: list[Any] = [schema]
    for node in nodes:
        if len(nodes) > 3_000:
            break
        nodes += [
            part
            for part in (node.values() if isinstance(node, dict) else node)
            if isinstance(part, (dict, list))
        ]
    node = rng.choice(nodes)
    if not node:
        return
    key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
    change = rng.randrange(5)
    if change == 0:
        node[key] = copy.deepcopy(rng.choice(ODD))
    elif change == 1 and isinstance(node, dict):
        node[rng.choice([*NAMES, "required", "items", "properties", "anyOf", "minimum", "minItems"])] = (
            node.pop(key)
        )
    elif change == 2:
        node[key] = copy.deepcopy(rng.choice(nodes[-200:]))
    elif change == 3:
        del node[key]
    else:
        other = KINDS[rng.choice(["function", "settings", "soup", "article"])](_Kinds(rng))
        node[key] = other if rng.random() < 0.5 else {"anyOf": [node[key], other]}
