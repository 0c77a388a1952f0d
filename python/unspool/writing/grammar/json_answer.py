"""The grammar of an answer that is only JSON, for `response_format`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.errors import ArgumentError
from unspool.writing.grammar.json_schema import NormalisedSchema, normalise
from unspool.writing.grammar.nodes import EMPTY, Rules
from unspool.writing.grammar.printers import PRINTERS
from unspool.writing.grammar.result import Grammar, Syntax
from unspool.writing.grammar.rule_depth import check_depth
from unspool.writing.grammar.schema_rules import SchemaRules
from unspool.writing.grammar.written_values import JSON_VALUES

__all__ = ["json_grammar", "json_rules"]


def json_grammar(
    schema: Mapping[str, Any] | bool | None, *, syntax: Syntax = "lark", strict: bool = False
) -> Grammar:
    """Build the grammar of an answer that is one JSON value of this schema.

    Keys come in the order of the schema. An object with `properties` has only those, unless the schema has
    `additionalProperties`.

    Args:
        schema: A JSON Schema; None for any object, as for `{"type": "json_object"}`.
        syntax: "lark" for llguidance, "structural_tag" for xgrammar, "gbnf" for llama.cpp.
        strict: Raise if OpenAI's strict mode would reject the schema, with a message that says what to
            change.

    Raises:
        ArgumentError: The schema is malformed, too large, matched by no value, or not strict.
    """
    if syntax not in PRINTERS:
        raise ArgumentError(f"syntax must be one of {', '.join(PRINTERS)}; got {syntax!r}")
    found = normalise(schema, syntax=syntax, strict=strict)
    return Grammar(syntax, PRINTERS[syntax](json_rules(found)), found.dropped)


def json_rules(found: NormalisedSchema) -> Rules:
    """A JSON value as rules."""
    rules = Rules({"start": EMPTY})
    rules.named["start"] = SchemaRules(rules, JSON_VALUES, found.schema).value()
    check_depth(rules)
    return rules
