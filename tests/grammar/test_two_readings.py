"""The parser and the grammar read a tool's schema each for itself: they must agree on the types of a parameter.

The parser may know a parameter less well than the grammar, but it never takes a type away that the grammar writes.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import unspool
from hypothesis import HealthCheck, given, settings
from unspool.errors import ArgumentError
from unspool.writing.grammar.json_schema import normalise_arguments
from unspool.writing.grammar.schema_types import types_of

from .schemas import schemas

#: A text of each type, and its value. As text the parser would write each of them in quotes.
SAMPLES: dict[str, tuple[str, Any]] = {
    "integer": ("3", 3), "number": ("2.5", 2.5), "boolean": ("true", True), "null": ("null", None),
    "object": ('{"a": 1}', {"a": 1}), "array": ("[1]", [1]),
}  # fmt: skip
FIXED: list[Any] = [
    {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/T"}], "$defs": {"T": {"type": ["null", "array"]}}},
    {"allOf": [{"type": ["integer", "string"]}, {"type": ["integer", "null"]}]},
    {"oneOf": [{"const": 3}, {"enum": [True, None]}]},
    {"type": "boolean", "nullable": True},
    {"properties": {"a": {"type": "integer"}}},
]


def parameters(schema: Any) -> dict[str, Any]:
    """The parameters of a tool with one parameter p."""
    whole = {"type": "object", "properties": {"p": schema}, "required": ["p"]}
    return {**whole, "$defs": schema["$defs"]} if isinstance(schema, dict) and "$defs" in schema else whole


def types_written(schema: Any) -> tuple[str, ...]:
    """The types that the grammar writes for a parameter with this schema."""
    try:
        made = normalise_arguments(parameters(schema)).schema
    except ArgumentError:  # no value fits it
        return ()
    return types_of(made["properties"]["p"], made)


def read(schema: Any, text: str) -> Any:
    """The value that the parser reads between tags."""
    tools = [{"name": "f", "parameters": parameters(schema)}]
    output = f"<tool_call>f<arg_key>p</arg_key><arg_value>{text}</arg_value></tool_call>"
    (call,) = unspool.parse(output, "glm47", tools=tools).tool_calls
    return json.loads(call.arguments)["p"]


def check(schema: Any) -> int:
    """The number of types that were compared."""
    types = types_written(schema)
    if "string" in types:  # every text is one of them
        assert read(schema, "some text") == "some text"
        return 1
    for name in types:
        text, value = SAMPLES[name]
        assert read(schema, text) == value, (name, schema)
    return len(types)


@pytest.mark.parametrize("schema", FIXED, ids=str)
def test_named_schemas(schema: Any) -> None:
    assert check(schema) > 0


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(schema=schemas())
def test_generated_schemas(schema: Any) -> None:
    check(schema)
