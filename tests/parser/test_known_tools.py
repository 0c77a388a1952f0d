"""Tools that come again are recognised; tools that differ in anything are not."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from unspool.core.stream.tool_schemas import compile_tools
from unspool.errors import ArgumentError

TOOLS: list[dict[str, Any]] = [
    {
        "name": "now",
        "parameters": {"type": "object", "properties": {"zone": {"type": "string"}, "n": {"enum": [1]}}},
    }
]
CALL = "<tool_call>\n<function=now>\n<parameter=zone>\n5\n</parameter>\n</function>\n</tool_call>"


def arguments(tools: Any) -> str:
    from unspool import parse

    return parse(CALL, "qwen3_coder", tools).tool_calls[0].arguments


def test_equal_tools_are_compiled_once() -> None:
    assert compile_tools(TOOLS) is compile_tools(copy.deepcopy(TOOLS))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("name",), "later"),
        (("parameters", "properties", "zone", "type"), "integer"),
        (("parameters", "properties", "n", "enum"), [1.0]),
        (("parameters", "properties", "n", "enum"), [True]),
        (("parameters", "required"), []),
    ],
)
def test_other_tools_are_other_schemas(path: tuple[str, ...], value: Any) -> None:
    known = compile_tools(TOOLS)
    other = copy.deepcopy(TOOLS)
    place: Any = other[0]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert compile_tools(other) is not known


def test_tools_that_change_are_read_again() -> None:
    tools = copy.deepcopy(TOOLS)
    assert arguments(tools) == '{"zone": "5"}'
    tools[0]["parameters"]["properties"]["zone"]["type"] = "integer"
    assert arguments(tools) == '{"zone": 5}'


def test_what_is_not_plain_data_is_read_each_time() -> None:
    class Model:
        def model_dump(self) -> dict[str, Any]:
            return TOOLS[0]

    first, second = compile_tools([Model()]), compile_tools([Model()])
    assert first is not second
    assert first is not None
    assert "now" in first


def test_a_list_in_itself_is_refused() -> None:
    schema: dict[str, Any] = {}
    schema["properties"] = {"again": schema}
    with pytest.raises(ArgumentError, match=r"the parameters of tools\[0\] \(loop\) are not valid JSON"):
        compile_tools([{"name": "loop", "parameters": schema}])


def test_a_fault_is_named_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ArgumentError, match=r"tools\[0\] has no name"):
            compile_tools([{"parameters": {}}])
