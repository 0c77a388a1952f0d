"""The grammar of an answer that is only JSON, for `response_format`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.errors import ArgumentError
from unspool.writing.engines.printers import PRINTERS
from unspool.writing.grammar_result import Grammar, Syntax, WhiteSpace, check_white_space
from unspool.writing.rules.nodes import EMPTY, Rules
from unspool.writing.rules.rule_depth import check_depth
from unspool.writing.rules.written_values import JSON_VALUES
from unspool.writing.schemas.json_schema import NormalisedSchema, normalise
from unspool.writing.schemas.schema_rules import SchemaRules

__all__ = ["json_grammar", "json_rules"]


def json_grammar(
    schema: Mapping[str, Any] | bool | None,
    *,
    syntax: Syntax = "lark",
    strict: bool = False,
    white_space: WhiteSpace = "bounded",
    any_order: bool = False,
) -> Grammar:
    """Build the grammar of an answer that is one JSON value of this schema.

    Keys come in the order of the schema, unless `any_order` is set. An object with `properties` has no other keys,
    unless the schema has `additionalProperties`.

    Args:
        schema: A JSON Schema; None for any object, as for `{"type": "json_object"}`.
        syntax: "lark" for llguidance, "structural_tag" for xgrammar, "gbnf" for llama.cpp.
        strict: Raise if OpenAI's strict mode would reject the schema, with a message that says what to
            change.
        white_space: "bounded": at most 8 spaces and line breaks in one place. "compact": only a space after a comma
            or a colon. "any": no limit.
        any_order: Whether the keys of an object may come in any order if it has at most 6 keys.

    Raises:
        ArgumentError: The schema is malformed, too large, matched by no value, or not strict.
    """
    if syntax not in PRINTERS:
        raise ArgumentError(f"syntax must be one of {', '.join(PRINTERS)}; got {syntax!r}")
    check_white_space(white_space)
    normalised = normalise(schema, syntax=syntax, strict=strict)
    return Grammar(
        syntax, PRINTERS[syntax](json_rules(normalised, white_space, any_order)), normalised.dropped
    )


def json_rules(
    normalised: NormalisedSchema, white_space: WhiteSpace = "bounded", any_order: bool = False
) -> Rules:
    """Build the rules for a JSON value of a schema."""
    rules = Rules({"start": EMPTY}, white_space, any_order)
    rules.named["start"] = SchemaRules(rules, JSON_VALUES, normalised.definitions).value(normalised.schema)
    check_depth(rules)
    return rules
