"""No number is admitted that no client can read: one beyond a double, or of hundreds of digits."""

from __future__ import annotations

from typing import Any

import pytest
import unspool
from unspool.writing.grammar.json_answer import json_grammar

from .byte_walks import admits
from .matchers import XgrammarMatcher

USUAL = ["0", "-3", "12.5", "-0.25", "1764000000000", "[1, 2.5]", '{"a": 7}', '"1e400"', "true", "null"]
BEYOND = ["1e400", "-1e400", "9" * 400, "[1e400]", '{"a": [{"b": 1e999}]}']
SCHEMAS: list[Any] = [
    {},
    {"type": ["number", "integer", "array", "object", "string", "boolean", "null"]},
    {"$ref": "#/$defs/any_value", "$defs": {"any_value": {}}},
    {
        "anyOf": [
            {"type": "array", "prefixItems": [{}]},
            {"type": "object", "patternProperties": {"": {}}},
            {},
        ]
    },
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_an_answer_has_usual_numbers_alone(schema: Any) -> None:
    text = json_grammar(schema).text
    assert [value for value in USUAL if not admits(text, value)] == []
    assert [value for value in BEYOND if admits(text, value)] == []


@pytest.mark.parametrize("syntax", ["structural_tag", "gbnf"])
@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_an_answer_has_usual_numbers_alone_in_xgrammar(schema: Any, syntax: Any) -> None:
    pytest.importorskip("xgrammar")
    text = json_grammar(schema, syntax=syntax).text

    def is_admitted(value: str) -> bool:
        matcher = XgrammarMatcher(text, syntax)
        return matcher.admits(value.encode()) == len(value) and _may_end(matcher, value)

    assert [value for value in USUAL if not is_admitted(value)] == []
    assert [value for value in BEYOND if is_admitted(value)] == []


def _may_end(matcher: XgrammarMatcher, value: str) -> bool:
    matcher.take(value.encode())
    return matcher.may_end()


@pytest.mark.parametrize(
    "parameters", [{"type": "object", "properties": {"a": {}}}, {"type": "object"}], ids=str
)
def test_a_call_has_usual_numbers_alone(parameters: Any) -> None:
    file = unspool.get_format("hermes")
    text = file.grammar([{"name": "f", "parameters": parameters}], tool_choice="required").text
    call = '<tool_call>\n{"name": "f", "arguments": {"a": %s}}\n</tool_call>'
    for value in USUAL:
        assert admits(text, call % value), value
    for value in BEYOND:
        assert not admits(text, call % value), value
        assert unspool.parse(call % value, file).tool_calls[0].status == "malformed"
