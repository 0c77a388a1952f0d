"""Tools as requests hold them: broken schemas say nothing, broken tools are refused, and none takes long."""

from __future__ import annotations

from typing import Any

import pytest
import unspool
from hypothesis import given
from hypothesis import strategies as st

_KEYS = [
    "type",
    "properties",
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "$defs",
    "enum",
    "const",
    "nullable",
]
_LEAVES = st.sampled_from([5, None, True, "string", "#", "#/$defs/a", "#/x/0", ["string", 5], [[]], 1e9])
_SCHEMAS = st.recursive(
    _LEAVES,
    lambda inner: st.dictionaries(
        st.sampled_from([*_KEYS, "a"]), inner | st.lists(inner, max_size=3), max_size=4
    ),
    max_leaves=12,
)


def tool(parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "parameters": parameters}}


def arguments(parameters: Any, value: str) -> str:
    text = f"<tool_call>\n<function=f>\n<parameter=a>\n{value}\n</parameter>\n</function>\n</tool_call>"
    return unspool.parse(text, "qwen3_coder", [tool(parameters)]).tool_calls[0].arguments


@given(_SCHEMAS.filter(lambda schema: not isinstance(schema, str)))  # a text is read as JSON
def test_any_schema_is_taken(schema: Any) -> None:
    message = unspool.parse("Hi", "qwen3_coder", [tool(schema)])
    assert message.content == "Hi"


@pytest.mark.parametrize(
    "tools",
    [
        [{"function": 5}],
        [{"function": "f"}],
        [5],
        [None],
        [{}],
        [{"function": {"name": 3}}],
        "f",
        {"name": "f"},
    ],
)
def test_what_is_no_tool_is_refused(tools: Any) -> None:
    with pytest.raises(unspool.ArgumentError, match="tools"):
        unspool.Parser("hermes", tools=tools)


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"$ref": "#"}] * 3, "properties": {"a": {"type": "integer"}}},
        {
            "properties": {name: {"$ref": "#"} for name in "bcdefghijklmnopqrstuvwxyz"}
            | {"a": {"type": "integer"}}
        },
        {
            "$defs": {"n": {"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#"}]}},
            "properties": {name: {"anyOf": [{"$ref": "#/$defs/n"}] * 9} for name in "bcdefgh"}
            | {"a": {"type": "integer"}},
        },
    ],
)
def test_a_schema_that_refers_to_itself_still_has_its_types(schema: Any) -> None:
    """Read without end these would take years; the types at hand are known all the same."""
    assert arguments(schema, "5") == '{"a": 5}'
    assert arguments({**schema, "properties": {"a": {"type": "string"}}}, "5") == '{"a": "5"}'


@pytest.mark.parametrize("depth", [10, 200, 600, 20_000])
def test_a_deep_schema_is_read_as_deep_as_it_goes(depth: int) -> None:
    schema: Any = {"type": "integer"}
    for _ in range(depth):
        schema = {"anyOf": [schema]}
    schema = {"properties": {"a": schema}}
    assert unspool.parse("Hi", "qwen3_coder", [tool(schema)]).content == "Hi"


def test_types_inside_values() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/point"}},
        "$defs": {"point": {"properties": {"x": {"type": "string"}, "y": {"type": "number"}}}},
    }
    assert arguments(schema, '{"x": "1", "y": 2}') == '{"a": {"x": "1", "y": 2}}'
