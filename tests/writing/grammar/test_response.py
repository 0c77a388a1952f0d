"""An answer of a schema: what the grammar admits is read as content that fits it, or as calls."""

from __future__ import annotations

import json
import random

import jsonschema
import pytest
import unspool
from unspool import ArgumentError

from .tools import fragments_of, tools_for
from .walks import Walker

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "near": {"type": "array", "items": {"$ref": "#"}, "maxItems": 2},
    },
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("file", unspool.formats(), ids=lambda file: file.name)
def test_the_content_fits_the_schema(file: unspool.FormatFile) -> None:
    grammar = file.grammar(response_schema=SCHEMA)
    walker = Walker.of(grammar.text, fragments_of(file, []), random.Random(file.name))
    texts = [text for text in (walker.walk(60) for _ in range(6)) if text is not None]
    assert texts, "no walk came to an end"
    for text in texts:
        message = unspool.parse(text, file, tool_choice="none")
        jsonschema.validate(json.loads(message.content), SCHEMA)
        assert not message.tool_calls


@pytest.mark.parametrize(
    "file", [file for file in unspool.formats() if file.has_tools], ids=lambda file: file.name
)
def test_an_answer_is_calls_or_content(file: unspool.FormatFile) -> None:
    tools = tools_for(file)
    grammar = file.grammar(tools, response_schema=SCHEMA)
    walker = Walker.of(grammar.text, fragments_of(file, tools), random.Random(file.name))
    texts = [text for text in (walker.walk(60) for _ in range(6)) if text is not None]
    assert texts, "no walk came to an end"
    for text in texts:
        message = unspool.parse(text, file, tools)
        assert bool(message.tool_calls) != bool(message.content), text
        assert all(call.is_complete for call in message.tool_calls)
        if message.content:
            jsonschema.validate(json.loads(message.content), SCHEMA)


def test_free_text_is_not_admitted() -> None:
    file = unspool.get_format("hermes")
    grammar = file.grammar(response_schema=SCHEMA, reasoning=False)
    walker = Walker.of(grammar.text, fragments_of(file, []), random.Random(1))
    assert all((walker.walk() or b"{").startswith(b"{") for _ in range(20))


def test_a_required_call_leaves_no_content() -> None:
    file = unspool.get_format("hermes")
    tools = tools_for(file)
    both = file.grammar(tools, tool_choice="required", response_schema=SCHEMA)
    assert both.text == file.grammar(tools, tool_choice="required").text


def test_no_choice_leaves_no_calls() -> None:
    file = unspool.get_format("hermes")
    none = file.grammar(tools_for(file), tool_choice="none", response_schema=SCHEMA)
    assert none.text == file.grammar(response_schema=SCHEMA).text


@pytest.mark.parametrize("syntax", ["lark", "structural_tag", "gbnf"])
def test_every_syntax_has_it(syntax: str) -> None:
    assert unspool.get_format("qwen3").grammar(response_schema=SCHEMA, syntax=syntax).text  # type: ignore[arg-type]


def test_a_schema_that_nothing_fits_is_refused() -> None:
    with pytest.raises(ArgumentError, match="the response's schema"):
        unspool.get_format("hermes").grammar(response_schema={"type": "string", "enum": [1]})


def test_neither_tools_nor_a_schema_is_refused() -> None:
    with pytest.raises(ArgumentError, match="there are no tools"):
        unspool.get_format("hermes").grammar()
