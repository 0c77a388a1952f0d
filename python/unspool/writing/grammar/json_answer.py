"""The grammar of an answer that is only JSON, for `response_format`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unspool.errors import ArgumentError
from unspool.writing.grammar.result import Grammar, Syntax

__all__ = ["json_grammar"]


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
    # Imported here because most programs build no grammar.
    from unspool.writing.grammar.gbnf import to_gbnf
    from unspool.writing.grammar.json_schema import normalise
    from unspool.writing.grammar.json_text import json_rules, lark_json, tag_json

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
