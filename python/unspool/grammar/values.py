"""A JSON Schema as a grammar of values in a dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unspool.grammar.dialects import INTEGER, NUMBER, Dialect
from unspool.grammar.nodes import (
    EMPTY,
    Literal,
    Node,
    Reference,
    Repeat,
    Rules,
    choice,
    optional,
    sequence,
    star,
)
from unspool.grammar.result import Dropped

__all__ = ["ANY_TYPE", "Values", "resolve", "types_of"]

ANY_TYPE = ("string", "number", "boolean", "object", "array", "null")
_COUNTED = frozenset({"minItems", "maxItems"})
_KNOWN = _COUNTED | {
    "type", "enum", "const", "properties", "required", "additionalProperties", "items", "prefixItems",
    "anyOf", "oneOf", "$ref", "$defs", "definitions", "title", "description", "default", "examples",
    "$schema", "$id", "deprecated", "readOnly", "writeOnly", "nullable",
}  # fmt: skip


def resolve(schema: Any, root: Any) -> Any:
    """The schema, or the one that its `$ref` names; a chain of them ends after 32."""
    for _ in range(32):
        if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
            return schema
        target: Any = root
        for key in schema["$ref"].lstrip("#").strip("/").split("/"):
            name = key.replace("~1", "/").replace("~0", "~")
            if name and isinstance(target, Mapping):
                target = target.get(name, {})
        schema = target
    return {}


def types_of(schema: Any, root: Any) -> tuple[str, ...]:
    """The types that a value of this schema may have; "integer" apart from "number"."""
    schema = resolve(schema, root)
    if not isinstance(schema, Mapping):
        return ANY_TYPE
    if "const" in schema or "enum" in schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return tuple(dict.fromkeys(map(_type_name, values)))
    for word in ("anyOf", "oneOf"):
        if word in schema:
            found = [name for one in schema[word] for name in types_of(one, root)]
            return tuple(dict.fromkeys(found))
    kind = schema.get("type")
    if kind is None:
        return ("object",) if "properties" in schema else ("array",) if "items" in schema else ANY_TYPE
    return tuple(kind) if isinstance(kind, list) else (kind,)


def _type_name(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


class Values:
    """Makes the grammar of values of one schema, in one dialect. Its rules go to `rules`."""

    def __init__(self, rules: Rules, dialect: Dialect, root: Any, path: str, dropped: list[Dropped]) -> None:
        self._rules = rules
        self._dialect = dialect
        self._root = root
        self._path = path
        self._dropped = dropped
        self._made: dict[str, Reference] = {}

    def node(self, schema: Any) -> Node:
        """A value of this schema."""
        if schema is True or schema == {}:
            return self._any()
        key = json.dumps(schema, sort_keys=True, default=repr)
        if key in self._made:
            return self._made[key]
        resolved = resolve(schema, self._root)
        if schema is not resolved or _may_recur(resolved):
            name = self._rules.new_name("value")
            self._rules.named[name] = EMPTY
            self._made[key] = Reference(name)
            self._rules.named[name] = self._of(resolved)
            return self._made[key]
        return self._of(resolved)

    def _of(self, schema: Any) -> Node:
        if not isinstance(schema, Mapping) or schema == {}:
            return self._any()
        for keyword in sorted(set(schema) - _KNOWN):
            self._dropped.append(Dropped(self._path, keyword, "the dialect of the format does not hold it"))
        if "const" in schema:
            return self.constant(schema["const"])
        if "enum" in schema:
            return choice(*map(self.constant, schema["enum"]))
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return choice(*(self.node(one) for one in schema[word]))
        return choice(*(self.typed(name, schema) for name in types_of(schema, self._root)))

    def typed(self, name: str, schema: Mapping[str, Any]) -> Node:
        """A value of one type."""
        dialect = self._dialect
        if name == "object":
            return self._object(schema)
        if name == "array":
            return self._array(schema)
        if name == "boolean":
            return choice(Literal(dialect.true), Literal(dialect.false))
        simple = {"string": dialect.string, "integer": INTEGER, "number": NUMBER}
        return simple.get(name, Literal(dialect.null))

    def constant(self, value: Any) -> Node:
        """Exactly this value."""
        dialect = self._dialect
        if isinstance(value, str):
            return dialect.text(value)
        if isinstance(value, bool):
            return Literal(dialect.true if value else dialect.false)
        if isinstance(value, list):
            return self._joined("[", [self.constant(item) for item in value], "]")
        if isinstance(value, dict):
            members = [self._member(dialect.key(key), self.constant(item)) for key, item in value.items()]
            return self._joined("{", members, "}")
        return Literal(dialect.null) if value is None else Literal(json.dumps(value))

    def _any(self) -> Node:
        name = self._made.get("")
        if name is None:
            name = self._made[""] = Reference(self._rules.new_name("any"))
            self._rules.named[name.name] = EMPTY
            self._rules.named[name.name] = choice(*(self.typed(kind, {}) for kind in ANY_TYPE))
        return name

    def _joined(self, opener: str, parts: list[Node], closer: str) -> Node:
        pieces: list[Node] = [Literal(opener), self._dialect.space]
        for number, part in enumerate(parts):
            pieces += [self._comma() if number else EMPTY, part]
        return sequence(*pieces, self._dialect.space, Literal(closer))

    def _comma(self) -> Node:
        return sequence(self._dialect.space, Literal(","), self._dialect.space)

    def _member(self, key: Node, value: Node) -> Node:
        return sequence(key, self._dialect.space, Literal(":"), self._dialect.space, value)

    def _object(self, schema: Mapping[str, Any]) -> Node:
        properties = schema.get("properties") or {}
        more = schema.get("additionalProperties", not properties)
        required = set(schema.get("required", ()))
        members = [
            (self._member(self._dialect.key(key), self.node(value)), key in required)
            for key, value in properties.items()
            if value is not False
        ]
        tail = None
        if more is not False:
            any_value = self._any() if more is True else self.node(more)
            tail = self._member(self._dialect.any_key, any_value)
        inner = self.in_order(members, self._comma(), tail)
        space = self._dialect.space
        return sequence(Literal("{"), space, inner, space, Literal("}"))

    def in_order(self, members: list[tuple[Node, bool]], comma: Node, tail: Node | None = None) -> Node:
        """Members in their order, each with whether it must be there; the tail may follow, and repeat."""
        first = rest = EMPTY if tail is None else star(sequence(comma, tail))
        if tail is not None:
            first = optional(sequence(tail, rest))
        for part, is_required in reversed(members):
            later = self._rules.add("members", rest) if rest != EMPTY else rest
            here = sequence(part, later)
            if is_required:
                first, rest = here, sequence(comma, here)
            else:
                first = choice(here, first) if first != EMPTY else optional(here)
                rest = sequence(optional(sequence(comma, part)), later)
        return first

    def _array(self, schema: Mapping[str, Any]) -> Node:
        least, most = int(schema.get("minItems", 0)), schema.get("maxItems")
        prefix = [self.node(item) for item in schema.get("prefixItems", ())]
        items = schema.get("items", True)
        if most is not None and most < len(prefix):
            prefix = prefix[:most]
        space = self._dialect.space
        members = [(part, number < least) for number, part in enumerate(prefix)]
        if not prefix:
            return sequence(Literal("["), space, self._list(items, least, most), space, Literal("]"))
        tail = None if items is False or most == len(prefix) else self.node(items)
        inner = self._prefixed(members, tail)
        return sequence(Literal("["), space, inner, space, Literal("]"))

    def _list(self, items: Any, least: int, most: int | None) -> Node:
        if items is False or most == 0:
            return EMPTY
        item = self._rules.add("item", self.node(items))
        later = Repeat(sequence(self._comma(), item), max(least - 1, 0), None if most is None else most - 1)
        filled = sequence(item, later)
        return filled if least else optional(filled)

    def _prefixed(self, members: list[tuple[Node, bool]], tail: Node | None) -> Node:
        """Items that have places of their own: a later one needs all before it."""
        made = EMPTY if tail is None else star(sequence(self._comma(), tail))
        for number in reversed(range(len(members))):
            part, is_required = members[number]
            made = sequence(self._comma() if number else EMPTY, part, made)
            made = made if is_required else optional(made)
        return made


def _may_recur(schema: Any) -> bool:
    return isinstance(schema, Mapping) and any(
        word in schema for word in ("properties", "items", "anyOf", "oneOf", "prefixItems")
    )
