"""A value without text, or `None`, for a parameter that takes no text: with `repair` it is left out, or null."""

from __future__ import annotations

import json
from typing import Any

import pytest
import unspool

FORMATS = [file.name for file in unspool.formats()]


def tools(limit: Any) -> list[dict[str, Any]]:
    properties = {"city": {"type": "string"}, "limit": limit}
    return [{"name": "get_weather", "parameters": {"type": "object", "properties": properties}}]


def output(format: str, arguments: dict[str, Any]) -> str:
    """A call as the format writes it, with texts for values."""
    call = {"name": "get_weather", "arguments": arguments}
    return unspool.get_format(format).render({"tool_calls": [call]}, tools=tools({"type": "string"}))


def read(format: str, text: str, limit: Any, *, repair: bool = True) -> tuple[Any, tuple[str, ...]]:
    (call,) = unspool.parse(text, format, tools(limit), repair=repair).tool_calls
    assert call.status == "complete"
    return json.loads(call.arguments), call.repairs


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("value", ["", "None", "none", "null"])
def test_in_every_format(format: str, value: str) -> None:
    integer, nullable = {"type": "integer"}, {"type": ["integer", "null"]}
    for arguments in ({"city": "x", "limit": value}, {"limit": value, "city": "x"}, {"limit": value}):
        try:
            text = output(format, arguments)
        except unspool.ArgumentError:
            continue  # this format cannot write the call
        plain, _ = read(format, text, integer, repair=False)
        if plain.get("limit") != value:
            continue  # it writes a type, or no empty value
        left = {key: item for key, item in arguments.items() if key != "limit"}
        expected = ({**arguments, "limit": None}, "quoted value") if value else (left, "empty value")
        found, repairs = read(format, text, integer)
        assert (found, expected[1] in repairs) == (expected[0], True)
        found, _ = read(format, text, nullable)
        assert found == {**arguments, "limit": None}
        for whole in (
            {"type": "string"},
            {"enum": ["None", "", "none", "null"]},
            {"type": ["integer", "string"]},
        ):
            assert read(format, text, whole)[0] == arguments


@pytest.mark.parametrize(
    "format", ["qwen3_coder", "glm45", "minimax_m2", "hermes", "kimi_k2", "seed_oss", "gemma4"]
)
@pytest.mark.parametrize(
    "arguments", [{"limit": ""}, {"limit": "", "city": ""}, {"city": "x", "limit": "None"}]
)
def test_at_every_split(format: str, arguments: dict[str, str]) -> None:
    text = output(format, arguments)
    whole = unspool.parse(text, format, tools({"type": "integer"}), repair=True)
    for size in (1, 2, 3, 7):
        parser = unspool.Parser(format, tools=tools({"type": "integer"}), repair=True)
        for begin in range(0, len(text), size):
            parser.parse_chunk(text[begin : begin + size])
        parser.finish()
        assert parser.message.tool_calls[0].arguments == whole.tool_calls[0].arguments
        assert parser.message.tool_calls[0].repairs == whole.tool_calls[0].repairs


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("integer", " \n ", {}),
        ("number", "", {}),
        ("boolean", "", {}),
        ("boolean", "none", {"limit": None}),
        ("array", "", {}),
        ("array", "[]", {"limit": []}),
        ("object", "", {}),
        ("object", "None", {"limit": None}),
        ("integer", "Nonesuch", {"limit": "Nonesuch"}),
        ("integer", "0", {"limit": 0}),
        ("string", " ", {"limit": " "}),
    ],
)
def test_by_type(kind: str, value: str, expected: dict[str, Any]) -> None:
    text = json.dumps({"name": "get_weather", "arguments": {"limit": value}})
    assert read("hermes", f"<tool_call>\n{text}\n</tool_call>", {"type": kind})[0] == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"limit": "", "limit": 5}', '{"limit": 5}'),
        ('{"limit": 5, "limit": ""}', '{"limit": 5}'),
        ('{"limit": "", "x": "", "city": "a"}', '{"x": "", "city": "a"}'),
        ('{ "limit" : "" , "city" : "a" }', '{ "city" : "a" }'),
        ('{"city": "a", "limit": ""}', '{"city": "a"}'),
        ('{"limit": "" }', "{}"),
        ("{}", "{}"),
        ('{"limit": {"a": ""}}', '{"limit": {"a": ""}}'),
    ],
)
def test_what_is_left_is_one_object(arguments: str, expected: str) -> None:
    text = f'<tool_call>\n{{"name": "get_weather", "arguments": {arguments}}}\n</tool_call>'
    (call,) = unspool.parse(text, "hermes", tools({"type": "integer"}), repair=True).tool_calls
    assert (call.status, call.arguments) == ("complete", expected)
