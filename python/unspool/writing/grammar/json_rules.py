"""Spells out JSON values as rules, for a syntax without JSON Schema."""

from __future__ import annotations

import json

from unspool.writing.grammar.marked_values import JSON
from unspool.writing.grammar.nodes import Choice, JsonValue, Node, Repeat, Rules, Sequence
from unspool.writing.grammar.result import Dropped
from unspool.writing.grammar.schema_rules import value_rules

__all__ = ["without_json"]


def without_json(rules: Rules, dropped: list[Dropped]) -> Rules:
    """The grammar with a rule for each JSON value in it."""
    made = Rules(dict(rules.named))
    known: dict[str, Node] = {}

    def visit(node: Node) -> Node:
        if isinstance(node, JsonValue):
            if node.schema not in known:
                schema = json.loads(node.schema)
                known[node.schema] = made.add("json", value_rules(made, JSON, schema, schema, "#", dropped))
            return known[node.schema]
        if isinstance(node, Sequence):
            return Sequence(tuple(map(visit, node.parts)))
        if isinstance(node, Choice):
            return Choice(tuple(map(visit, node.parts)))
        if isinstance(node, Repeat):
            return Repeat(visit(node.part), node.least, node.most)
        return node

    for name, node in rules.items():
        made.named[name] = visit(node)
    return made
