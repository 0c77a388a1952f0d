"""Prints JSON values of a normalised schema for each matcher, with bounded white space."""

from __future__ import annotations

import json

from unspool.writing.grammar.json_schema import NormalisedSchema
from unspool.writing.grammar.nodes import EMPTY, Rules
from unspool.writing.grammar.number_bounds import bound_numbers
from unspool.writing.grammar.schema_rules import SchemaRules
from unspool.writing.grammar.written_values import JSON_VALUES

__all__ = ["MAX_WHITE_SPACE", "WHITE_SPACE", "json_rules", "lark_json", "tag_json"]

MAX_WHITE_SPACE = 8
"""Maximum run of blanks and line breaks: models that may write unlimited white space do."""
WHITE_SPACE = rf"[\x20\n]{{1,{MAX_WHITE_SPACE}}}"


def lark_json(found: NormalisedSchema) -> str:
    """A JSON value in a Lark rule."""
    schema = {"x-guidance": {"whitespace_pattern": WHITE_SPACE}, **bound_numbers(found.schema)}
    return f"%json {json.dumps(schema, ensure_ascii=False)}"


def tag_json(found: NormalisedSchema) -> dict[str, object]:
    """A JSON value in xgrammar's structural tag."""
    return {
        "type": "json_schema",
        "json_schema": bound_numbers(found.schema),
        "max_whitespace_cnt": MAX_WHITE_SPACE,
    }


def json_rules(found: NormalisedSchema) -> Rules:
    """A JSON value as rules; the schema must be normalised for "gbnf"."""
    rules = Rules({"start": EMPTY})
    rules.named["start"] = SchemaRules(rules, JSON_VALUES, found.schema).value()
    return rules
