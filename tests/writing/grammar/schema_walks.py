"""Walks through the grammar of one tool with any schema."""

from __future__ import annotations

import random
from typing import Any

import unspool
from hypothesis import strategies as st
from unspool.writing.grammar.make_grammar import make_grammar

from .law import faults
from .schemas import schemas
from .tools import fragments_of
from .walks import Walker

__all__ = ["faults_of_schema", "parameters"]


def parameters() -> st.SearchStrategy[dict[str, Any]]:
    """A tool's parameters by name."""
    return st.dictionaries(st.sampled_from(["a", "city", "b_2"]), schemas(2), min_size=1)


def faults_of_schema(file: unspool.FormatFile, parameters: dict[str, Any], seed: int) -> list[str] | None:
    """What is wrong with one walk; None if there was none: the format cannot write it, or no end was found."""
    named = {name: dict(schema) for name, schema in parameters.items()}
    definitions: dict[str, Any] = {}
    for schema in named.values():
        definitions.update(schema.pop("$defs", {}))
    whole = {"type": "object", "properties": named, "required": sorted(named)[:1], "$defs": definitions}
    tools = [{"name": "f", "parameters": whole}]
    try:
        grammar = make_grammar(file, tools, tool_choice="required", parallel=False)
    except unspool.ArgumentError:
        return None  # a name or a listed text that the format cannot write
    text = Walker.of(grammar.text, fragments_of(file, tools), random.Random(seed)).walk(60, 1500)
    if text is None:
        return None
    return [f"{fault} in {text!r}" for fault in faults(file, text, tools, True, bool(grammar.dropped))]
