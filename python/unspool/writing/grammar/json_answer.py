"""The grammar of an answer that is only JSON, for `response_format`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unspool.errors import ArgumentError
from unspool.writing.grammar.gbnf import to_gbnf
from unspool.writing.grammar.json_schema import NormalisedSchema, normalise
from unspool.writing.grammar.nodes import EMPTY, Rules
from unspool.writing.grammar.number_bounds import bound_numbers
from unspool.writing.grammar.result import Grammar, Syntax
from unspool.writing.grammar.rule_depth import check_depth
from unspool.writing.grammar.schema_rules import SchemaRules
from unspool.writing.grammar.shared_parts import share_parts
from unspool.writing.grammar.written_values import JSON_VALUES

__all__ = ["json_grammar", "json_rules"]

#: Maximum run of blanks and line breaks: models that may write unlimited white space do.
_MAX_WHITE_SPACE = 8
_WHITE_SPACE = rf"[\x20\n]{{1,{_MAX_WHITE_SPACE}}}"


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
    if syntax == "lark":
        found = normalise(schema, target="llguidance", strict=strict)
        text = f"start: {_lark_json(found)}\n"
    elif syntax == "structural_tag":
        found = normalise(schema, target="xgrammar", strict=strict)
        text = json.dumps({"type": "structural_tag", "format": _tag_json(found)}, ensure_ascii=False)
    elif syntax == "gbnf":
        found = normalise(schema, target="gbnf", strict=strict)
        text = to_gbnf(json_rules(found))
    else:
        raise ArgumentError(f"syntax must be one of lark, structural_tag, gbnf; got {syntax!r}")
    return Grammar(syntax, text, found.dropped)


def _lark_json(found: NormalisedSchema) -> str:
    """A JSON value in a Lark rule."""
    schema = {"x-guidance": {"whitespace_pattern": _WHITE_SPACE}, **bound_numbers(found.schema)}
    return f"%json {json.dumps(schema, ensure_ascii=False)}"


def _tag_json(found: NormalisedSchema) -> dict[str, object]:
    """A JSON value in xgrammar's structural tag."""
    return {
        "type": "json_schema",
        "json_schema": share_parts(bound_numbers(found.schema)),
        "max_whitespace_cnt": _MAX_WHITE_SPACE,
    }


def json_rules(found: NormalisedSchema) -> Rules:
    """A JSON value as rules; the schema must be normalised for "gbnf"."""
    rules = Rules({"start": EMPTY})
    rules.named["start"] = SchemaRules(rules, JSON_VALUES, found.schema).value()
    check_depth(rules)
    return rules
