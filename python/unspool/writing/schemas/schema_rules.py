"""Spells out the values of a schema as rules, in JSON or another notation."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from unspool.core.regular.character_sets import ANY_CHARACTER, ANY_TEXT
from unspool.core.regular.format_patterns import FORMAT_PATTERNS
from unspool.core.regular.schema_patterns import parse_pattern
from unspool.core.schema.schema import (
    Boolean,
    Definitions,
    Listed,
    ListOf,
    Named,
    Nothing,
    Null,
    Number,
    ObjectOf,
    OneOf,
    Schema,
    Text,
)
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
from unspool.writing.schemas.other_keys import other_keys
from unspool.writing.schemas.schema_budget import check_members

__all__ = ["SchemaRules", "value_rules"]

_ANY_SPACE: Node = optional(Terminal(plus(Chars.of(" \n\r\t"))))


def value_rules(rules: Rules, written: WrittenValues, schema: Schema, definitions: Definitions) -> Node:
    """A value of a schema, whose names lead to the definitions."""
    rules.spend(check_members(schema, definitions))
    return SchemaRules(rules, written, definitions).value(schema)


class SchemaRules:
    """Builds values of schemas; shared parts become rules."""

    def __init__(self, rules: Rules, written: WrittenValues, definitions: Definitions) -> None:
        self._rules = rules
        self._written = written
        self._definitions = definitions
        self._names: dict[str, Reference] = {}
        self._waiting: list[str] = []  # definitions whose rules are not built yet
        spaces = {"compact": EMPTY, "bounded": written.space, "any": _ANY_SPACE}
        self._space = rules.add("space", spaces[rules.white_space])
        after = optional(Literal(" ")) if rules.white_space == "compact" else self._space
        self._comma = sequence(self._space, Literal(","), after)
        self._colon = sequence(self._space, Literal(":"), after)

    def value(self, schema: Schema) -> Node:
        """A value of a whole schema."""
        same = (name for name, definition in self._definitions.items() if definition == schema)
        name = next(same, None)
        made = self.node(schema) if name is None else self._definition(name)
        while self._waiting:
            name = self._waiting.pop()
            self._rules.named[self._names[name].name] = self.node(self._definitions[name])
        return made

    def node(self, schema: Schema) -> Node:
        """A value of a nested schema."""
        match schema:
            case Named(name):
                return self._definition(name)
            case OneOf(options):
                return choice(*map(self.node, options))
            case Listed(values):
                return choice(*map(self._constant, values))
            case ObjectOf():
                return self._object(schema)
            case ListOf():
                return self._list(schema)
            case Text():
                return self._string(schema)
            case Number():
                return number_rule(schema)
            case Boolean():
                return choice(Literal(self._written.true), Literal(self._written.false))
            case Null():
                return Literal(self._written.null)
        return self._any()

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
        kinds: tuple[Schema, ...] = (Text(), Number(), Boolean(), Null(), ObjectOf(), ListOf())
        # No definition has this name.
        return self._once("any value", "value", lambda: choice(*map(self.node, kinds)))

    def _constant(self, value: Any) -> Node:
        if isinstance(value, str):
            return self._written.string(Literal(value))
        if isinstance(value, bool):
            return Literal(self._written.true if value else self._written.false)
        return Literal(self._written.null if value is None else json.dumps(value))

    def _string(self, schema: Text) -> Node:
        if schema == Text():
            return self._rules.add("string", self._written.any_string)
        return self._written.string(_text(schema))

    # Objects.

    def _object(self, schema: ObjectOf) -> Node:
        members = [
            (self._rules.add("member", self._member(Literal(key), value)), key in schema.required)
            for key, value in schema.members
            if not isinstance(value, Nothing)
        ]
        inner = self._in_order(members, self._other_member(schema), schema)
        return self._between("{", inner, "}")

    def _other_member(self, schema: ObjectOf) -> Node | None:
        """A key that the schema does not name, with its value."""
        if schema.is_closed:
            return None
        if schema.pattern is not None:
            key = parse_pattern(schema.pattern)
        else:
            key = other_keys(schema.named) if schema.members else ANY_TEXT
        return self._rules.add("member", self._member(key, schema.others))

    def _in_order(self, members: list[tuple[Node, bool]], other: Node | None, schema: ObjectOf) -> Node:
        """Members in order, each with whether it is required; `other` may follow any number of times."""
        if other is not None and not members:
            return self._repeated(other, schema.fewest, schema.most)
        if other is not None:
            members = [*members, (sequence(other, star(sequence(self._comma, other))), False)]
        return in_order(self._rules, members, self._comma, schema.fewest)

    def _member(self, key: Node, value: Schema) -> Node:
        return sequence(self._written.key(key), self._colon, self.node(value))

    # Lists.

    def _list(self, schema: ListOf) -> Node:
        prefix = [self._rules.add("item", self.node(item)) for item in schema.first]
        least, most = schema.shortest, schema.longest
        items = self._rules.add("item", self.node(schema.others)) if schema.has_others else None
        if not prefix:
            return self._between("[", self._repeated(items, least, most), "]")
        tail: Node = EMPTY
        if items is not None:
            left = None if most is None else most - len(prefix)
            tail = Repeat(sequence(self._comma, items), max(least - len(prefix), 0), left)
        first, *needed = prefix[: max(least, 1)]
        more = any_prefix(self._rules, prefix[1 + len(needed) :], self._comma, tail)
        filled = sequence(first, *(part for item in needed for part in (self._comma, item)), more)
        return self._between("[", filled if least else optional(filled), "]")

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


def _text(schema: Text) -> Node:
    """The content of a string."""
    if schema.format is not None:
        return parse_pattern(FORMAT_PATTERNS[schema.format])
    least, most = schema.shortest, schema.longest
    if schema.pattern is None:
        return Repeat(ANY_CHARACTER, least, most)
    whole = parse_pattern(schema.pattern)
    if isinstance(whole, Repeat) and (least or most is not None):
        bounds = [bound for bound in (whole.most, most) if bound is not None]
        return Repeat(whole.part, max(whole.least, least), min(bounds, default=None))
    return whole
