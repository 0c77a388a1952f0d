"""The grammar of a whole answer that is JSON: what `response_format` asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unspool.errors import ArgumentError
from unspool.grammar.result import Grammar, Syntax

__all__ = ["json_grammar"]


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
    # Most programs write no grammar: what it takes is imported here.
    from unspool.grammar.gbnf import to_gbnf
    from unspool.grammar.json_schema import normalise
    from unspool.grammar.json_text import json_rules, lark_json, tag_json

    if syntax == "lark":
        found = normalise(schema, target="llguidance", strict=strict)
        text = f"start: {lark_json(found)}\n"
    elif syntax == "structural_tag":
        found = normalise(schema, target="xgrammar", strict=strict)
        text = json.dumps({"type": "structural_tag", "format": tag_json(found)}, ensure_ascii=False)
    elif syntax == "gbnf":
        found = normalise(schema, target="gbnf", strict=strict)
        text = to_gbnf(json_rules(found))
    else:
        raise ArgumentError(f"syntax must be one of lark, structural_tag, gbnf; got {syntax!r}")
    return Grammar(syntax, text, found.dropped)
