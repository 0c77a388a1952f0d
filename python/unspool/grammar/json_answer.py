"""The grammar of a whole answer that is JSON: what `response_format` asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unspool.errors import ArgumentError
from unspool.grammar.json_schema import NormalisedSchema, Target, normalise
from unspool.grammar.nodes import EMPTY, Rules
from unspool.grammar.print_gbnf import print_gbnf
from unspool.grammar.result import Grammar, Syntax
from unspool.grammar.schema_rules import SchemaRules
from unspool.grammar.written_values import JSON_VALUES

__all__ = ["MAX_WHITE_SPACE", "WHITE_SPACE", "json_grammar", "json_rules", "lark_json"]

MAX_WHITE_SPACE = 8
"""How many blanks and line breaks may stand together: models that may write them without end do."""
WHITE_SPACE = rf"[\x20\n]{{1,{MAX_WHITE_SPACE}}}"

_TARGETS: dict[str, Target] = {"lark": "llguidance", "structural_tag": "xgrammar", "gbnf": "gbnf"}


def json_grammar(
    schema: Mapping[str, Any] | bool | None, *, syntax: Syntax = "lark", strict: bool = False
) -> Grammar:
    """The grammar of an answer that is one JSON value of this schema, and nothing else.

    Keys come in the order in which the schema names them. An object that names keys has only those, unless it
    has `additionalProperties`.

    Args:
        schema: A JSON Schema; None for any object, as `{"type": "json_object"}` asks.
        syntax: "lark" for llguidance, "structural_tag" for xgrammar, "gbnf" for llama.cpp.
        strict: Raise for what OpenAI's strict mode refuses, and say what to change.

    Raises:
        ArgumentError: The schema is malformed, too large, fitted by no value, or not strict.
    """
    if syntax not in _TARGETS:
        raise ArgumentError(f"syntax must be one of {', '.join(_TARGETS)}; got {syntax!r}")
    found = normalise(schema, target=_TARGETS[syntax], strict=strict)
    if syntax == "lark":
        text = f"start: {lark_json(found)}\n"
    else:
        text = _structural_tag(found) if syntax == "structural_tag" else print_gbnf(json_rules(found))
    return Grammar(syntax, text, found.dropped)


def json_rules(found: NormalisedSchema) -> Rules:
    """A JSON value of a schema that was normalised for "gbnf", as rules."""
    rules = Rules({"start": EMPTY})
    rules.named["start"] = SchemaRules(rules, JSON_VALUES, found.schema).value()
    return rules


def lark_json(found: NormalisedSchema) -> str:
    """What stands for a JSON value in a Lark rule."""
    schema = {"x-guidance": {"whitespace_pattern": WHITE_SPACE}, **found.schema}
    return f"%json {json.dumps(schema, ensure_ascii=False)}"


def _structural_tag(found: NormalisedSchema) -> str:
    value = {"type": "json_schema", "json_schema": found.schema, "max_whitespace_cnt": MAX_WHITE_SPACE}
    return json.dumps({"type": "structural_tag", "format": value}, ensure_ascii=False)
