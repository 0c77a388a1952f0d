"""Schemas of nested models: every format's grammar compiles in every engine, whatever the definitions are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import unspool

from .matchers import LlguidanceMatcher, XgrammarMatcher

FORMATS = [file for file in unspool.formats() if file.has_tools]
NAMES = [
    "Address",
    "HTTPError2",
    "2DPoint",
    "a.b.Node",
    "Größe",
    "Page[Item]",
    "日本",
    "start",
    "object",
    "TEXT_1",
    "_x",
]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def _tree(name: str) -> dict[str, Any]:
    children = {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}
    return {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "children": children},
        "required": ["n"],
    }


#: How a parameter leads to the definition of a name, and what the definition is.
PLACES: dict[str, tuple[Callable[[Any], Any], Callable[[str], Any]]] = {
    "plain": (lambda ref: ref, lambda _: CITY),
    "list": (lambda ref: {"type": "array", "items": ref}, lambda _: CITY),
    "optional": (lambda ref: {"anyOf": [ref, {"type": "null"}], "default": None}, lambda _: CITY),
    "recursive": (lambda ref: ref, _tree),
    "list of recursive": (lambda ref: {"type": "array", "items": ref}, _tree),
    "enum": (lambda ref: ref, lambda _: {"enum": ["a", "b"], "type": "string"}),
    "map": (lambda ref: {"type": "object", "additionalProperties": ref}, lambda _: CITY),
}


def tools(place: str, names: list[str]) -> list[dict[str, Any]]:
    """A tool with a parameter for each definition."""
    lead, define = PLACES[place]
    properties = {f"p{i}": lead({"$ref": f"#/$defs/{name}"}) for i, name in enumerate(names)}
    definitions = {name: define(name) for name in names}
    parameters = {"type": "object", "properties": properties, "required": ["p0"], "$defs": definitions}
    return [{"name": "send", "parameters": parameters}]


def compile_for(engine: str, text: str, syntax: str) -> Any:
    return LlguidanceMatcher(text) if engine == "llguidance" else XgrammarMatcher(text, syntax)


@pytest.mark.rest(but_one_in=20)
@pytest.mark.parametrize(
    ("engine", "syntax"),
    [("llguidance", "lark"), ("xgrammar", "lark"), ("xgrammar", "gbnf"), ("xgrammar", "structural_tag")],
)
@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_nested_models_compile(file: unspool.FormatFile, engine: str, syntax: Any) -> None:
    pytest.importorskip(engine)
    count = 0
    for place in PLACES:
        for names in (NAMES, NAMES[:1]):
            try:
                grammar = file.grammar(tools(place, names), tool_choice="required", syntax=syntax)
            except unspool.ArgumentError:
                continue  # the format has no way to write it
            compile_for(engine, grammar.text, syntax)
            count += 1
            break
    assert count
