"""Spells out the values of a normalised schema as rules, in JSON or another notation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from unspool.core.regular.character_sets import ANY_CHARACTER, ANY_TEXT
from unspool.core.regular.schema_patterns import parse_pattern
from unspool.writing.rules.in_order import any_prefix, in_order
from unspool.writing.rules.nodes import (
    EMPTY,
    Chars,
    Literal,
    Node,
    Reference,
    Repeat,
    Rules,
    Terminal,
    choice,
    optional,
    plus,
    sequence,
    star,
)
from unspool.writing.rules.number_rules import number_rule
from unspool.writing.rules.written_values import WrittenValues
from unspool.writing.schemas.format_patterns import FORMAT_PATTERNS
from unspool.writing.schemas.other_keys import other_keys
from unspool.writing.schemas.schema_budget import check_normalised
from unspool.writing.schemas.schema_prune import name_of

__all__ = ["SchemaRules", "value_rules"]

_ANY_SPACE: Node = optional(Terminal(plus(Chars.of(" \n\r\t"))))


def value_rules(
    rules: Rules, written: WrittenValues, schema: Mapping[str, Any], root: Mapping[str, Any]
) -> Node:
    """A value of a normalised schema, or of a part of one.

    Args:
        root: The whole schema, which has the definitions.
    """
    definitions = root.get("$defs", {})
    rules.spend(check_normalised(schema, definitions))
    return SchemaRules(rules, written, {**schema, "$defs": definitions}).value()


class SchemaRules:
    """Builds values of one normalised schema; shared parts become rules."""

    def __init__(self, rules: Rules, written: WrittenValues, schema: Mapping[str, Any]) -> None:
        self._rules = rules
        self._written = written
        self._definitions = schema.get("$defs", {})
        self._schema = schema
        self._names: dict[str, Reference] = {}
        self._waiting: list[str] = []  # definitions whose rules are not built yet
        spaces = {"compact": EMPTY, "bounded": written.space, "any": _ANY_SPACE}
        self._space = rules.add("space", spaces[rules.white_space])
        after = optional(Literal(" ")) if rules.white_space == "compact" else self._space
        self._comma = sequence(self._space, Literal(","), after)
        self._colon = sequence(self._space, Literal(":"), after)

    def value(self) -> Node:
        """A value of the whole schema."""
        root = {keyword: said for keyword, said in self._schema.items() if keyword != "$defs"}
        same = (name for name, definition in self._definitions.items() if definition == root)
        name = next(same, None)
        made = self.node(root) if name is None else self._definition(name)
        while self._waiting:
            name = self._waiting.pop()
            self._rules.named[self._names[name].name] = self.node(self._definitions[name])
        return made

    def node(self, schema: Any) -> Node:
        """A value of a nested schema."""
        name = name_of(schema)
        if name is not None:
            return self._definition(name)
        if "anyOf" in schema:
            return choice(*map(self.node, schema["anyOf"]))
        if "enum" in schema:
            return choice(*map(self._constant, schema["enum"]))
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            return self._array(schema)
        if kind == "string":
            return self._string(schema)
        if kind in ("number", "integer"):
            return number_rule(schema)
        if kind == "boolean":
            return choice(Literal(self._written.true), Literal(self._written.false))
        return Literal(self._written.null) if kind == "null" else self._any()

    def _definition(self, name: str) -> Node:
        """A reference to a definition's rule. The rule is built later, because definitions may be recursive."""
        if name not in self._names:
            self._names[name] = self._rules.reserve("definition")  # engines restrict the names of rules
            self._waiting.append(name)
        return self._names[name]

    def _once(self, key: str, stem: str, make: Callable[[], Node]) -> Node:
        """A reference to a rule that is built once; the rule may refer to itself."""
        if key not in self._names:
            rule = self._names[key] = self._rules.reserve(stem)
            self._rules.named[rule.name] = make()
        return self._names[key]

    def _any(self) -> Node:
        """Any value."""
        kinds = [{"type": kind} for kind in ("string", "number", "boolean", "null")]
        nested = [{"type": "object", "additionalProperties": {}}, {"type": "array", "items": {}}]
        # No definition has this name.
        return self._once("any value", "value", lambda: choice(*map(self.node, [*kinds, *nested])))

    def _constant(self, value: Any) -> Node:
        if isinstance(value, str):
            return self._written.string(Literal(value))
        if isinstance(value, bool):
            return Literal(self._written.true if value else self._written.false)
        return Literal(self._written.null if value is None else json.dumps(value))

    def _string(self, schema: dict[str, Any]) -> Node:
        if len(schema) > 1:
            return self._written.string(_text(schema))
        return self._rules.add("string", self._written.any_string)

    # Objects.

    def _object(self, schema: dict[str, Any]) -> Node:
        named = schema.get("properties", {})
        required = set(schema.get("required", ()))
        members = [
            (self._rules.add("member", self._member(Literal(key), value)), key in required)
            for key, value in named.items()
            if value is not False
        ]
        inner = self._in_order(members, self._other_member(schema, named), schema)
        return self._between("{", inner, "}")

    def _other_member(self, schema: dict[str, Any], named: dict[str, Any]) -> Node | None:
        """A key that the schema does not name, with its value."""
        for pattern, value in schema.get("patternProperties", {}).items():
            return self._rules.add("member", self._member(parse_pattern(pattern), value))
        others = schema.get("additionalProperties", {})
        if others is False:
            return None
        return self._rules.add("member", self._member(other_keys(named) if named else ANY_TEXT, others))

    def _in_order(self, members: list[tuple[Node, bool]], other: Node | None, schema: dict[str, Any]) -> Node:
        """Members in order, each with whether it is required; `other` may follow any number of times."""
        if other is not None and not members:
            return self._repeated(other, schema.get("minProperties", 0), schema.get("maxProperties"))
        if other is not None:
            members = [*members, (sequence(other, star(sequence(self._comma, other))), False)]
        return in_order(self._rules, members, self._comma, schema.get("minProperties", 0))

    def _member(self, key: Node, value: Any) -> Node:
        return sequence(self._written.key(key), self._colon, self.node(value))

    # Lists.

    def _array(self, schema: dict[str, Any]) -> Node:
        prefix = [self._rules.add("item", self.node(item)) for item in schema.get("prefixItems", ())]
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        items = None
        if most is None or most > len(prefix):
            items = self._rules.add("item", self.node(schema.get("items", {})))
        if not prefix:
            return self._between("[", self._repeated(items, least, most), "]")
        tail: Node = EMPTY
        if items is not None:
            left = None if most is None else most - len(prefix)
            tail = Repeat(sequence(self._comma, items), max(least - len(prefix), 0), left)
        first, *needed = prefix[: max(least, 1)]
        more = any_prefix(self._rules, prefix[1 + len(needed) :], self._comma, tail)
        made = sequence(first, *(part for item in needed for part in (self._comma, item)), more)
        return self._between("[", made if least else optional(made), "]")

    def _repeated(self, item: Node | None, least: int, most: int | None) -> Node:
        """The item, repeated with commas in between."""
        if item is None or most == 0:
            return EMPTY
        more = Repeat(sequence(self._comma, item), max(least - 1, 0), None if most is None else most - 1)
        filled = item if most == 1 else sequence(item, more)
        return filled if least else optional(filled)

    def _between(self, opener: str, inner: Node, closer: str) -> Node:
        space = self._space
        filled = [space, inner] if inner != EMPTY else []
        return sequence(Literal(opener), *filled, space, Literal(closer))


def _text(schema: dict[str, Any]) -> Node:
    """The content of a string."""
    if "pattern" in schema:
        whole = parse_pattern(schema["pattern"])
        if isinstance(whole, Repeat) and schema.keys() & {"minLength", "maxLength"}:
            most = [bound for bound in (whole.most, schema.get("maxLength")) if bound is not None]
            return Repeat(whole.part, max(whole.least, schema.get("minLength", 0)), min(most, default=None))
        return whole
    if "format" in schema:
        return parse_pattern(FORMAT_PATTERNS[schema["format"]])
    if "minLength" in schema or "maxLength" in schema:
        return Repeat(ANY_CHARACTER, schema.get("minLength", 0), schema.get("maxLength"))
    return ANY_TEXT
