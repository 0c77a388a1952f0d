"""A complete call's arguments are one JSON object, whatever wrote them; limits bound what one answer holds."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
import unspool
from unspool.errors import ArgumentError

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "w",
            "parameters": {
                "type": "object",
                "properties": {
                    "c": {"type": "string"},
                    "n": {"type": "integer"},
                    "x": {"type": "number"},
                    "l": {"type": "array"},
                    "i": {"type": "array", "items": {"type": "integer"}},
                },
            },
        },
    }
]


def hermes(call: str) -> str:
    return f"<tool_call>{call}</tool_call>"


def parse(text: str, format: str = "hermes", tools: Any = None, **options: Any) -> unspool.Message:
    """The message, the same for every byte on its own and for random pieces."""
    data = text.encode()
    whole = unspool.parse(data, format, tools, id_seed=1, **options)
    rng = random.Random(text)
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(3))
    for pieces in (
        [bytes([b]) for b in data],
        [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)],
    ):
        parser = unspool.Parser(format, tools, id_seed=1, **options)
        for piece in pieces:
            parser.parse_chunk(piece)
        message = parser.finish()
        assert message.content == whole.content
        assert message.tool_calls == whole.tool_calls
        assert message.malformed == whole.malformed
    return whole


def test_flat_arguments_count_where_the_schema_knows_them() -> None:
    call = parse(hermes('{"name": "w", "c": "x", "n": 3}'), tools=TOOLS).tool_calls[0]
    assert (call.arguments, call.status) == ('{"c": "x", "n": 3}', "complete")
    message = parse(hermes('{"name": "w", "c": "x", "zzz": 3}'), tools=TOOLS)
    assert message.tool_calls[0].status == "malformed"
    assert message.malformed[0].reason == "what stands beside the name is not an argument of the tool"


def test_keys_beside_named_arguments_mean_nothing() -> None:
    text = hermes('{"name": "w", "type": "function", "thought": "hm", "arguments": {"c": "x"}}')
    assert parse(text).tool_calls[0].arguments == '{"c": "x"}'
    assert parse(hermes('{"name": "w", "type": "function"}')).tool_calls[0].arguments == "{}"


@pytest.mark.parametrize(
    "number", ["1e308", "-1.7976931348623157e308", "9" * 308, "0." + "0" * 400 + "1e700", "0e999"]
)
def test_numbers_that_a_double_holds(number: str) -> None:
    assert math.isfinite(json.loads(number))
    assert parse(hermes(f'{{"name": "w", "arguments": {{"x": {number}}}}}')).tool_calls[0].is_complete


@pytest.mark.parametrize("number", ["1e309", "-1.8e308", "9" * 309, "0.001e312", "1" + "0" * 200 + "e200"])
def test_numbers_that_no_double_holds(number: str) -> None:
    for repair in (False, True):
        message = parse(hermes(f'{{"name": "w", "arguments": {{"x": [{number}]}}}}'), repair=repair)
        assert message.tool_calls[0].status == "malformed"
        assert message.malformed[0].reason == "a number is too large for a double"


def test_repair_keeps_the_first_of_two_and_says_so() -> None:
    text = hermes('{"name": "w", "arguments": {"a": 1, "a": [1, {"a": 2}], "b": "a", "b": 0 }}')
    call = parse(text, repair=True).tool_calls[0]
    assert (call.arguments, call.repairs) == ('{"a": 1, "b": "a"}', ("duplicate key",))


@pytest.mark.parametrize(
    ("value", "meant", "repairs"),
    [
        ('{"n": "5"}', '{"n": 5}', ("quoted value",)),
        ('{"n": "5", "l": "[1, \'a\']"}', '{"n": 5, "l": [1, "a"]}', ("quoted value",)),
        ('{"l": "urgent"}', '{"l": ["urgent"]}', ("quoted value",)),
        ('{"i": "urgent"}', '{"i": "urgent"}', ()),
        ('{"x": "1e400"}', '{"x": "1e400"}', ()),
        ('{"n": "five", "c": "5"}', '{"n": "five", "c": "5"}', ()),
        ('{"n": 5, "x": [1]}', '{"n": 5, "x": [1]}', ()),
    ],
)
def test_repair_reads_quoted_values_as_the_schema_says(
    value: str, meant: str, repairs: tuple[str, ...]
) -> None:
    text = f"<|tool_calls_section_begin|><|tool_call_begin|>functions.w:0<|tool_call_argument_begin|>{value}"
    text += "<|tool_call_end|><|tool_calls_section_end|>"
    call = parse(text, "kimi_k2", TOOLS, repair=True).tool_calls[0]
    assert (call.arguments, call.repairs, call.status) == (meant, repairs, "complete")
    assert parse(text, "kimi_k2", TOOLS).tool_calls[0].arguments == value


def test_calls_beyond_the_limit_are_malformed() -> None:
    text = "".join(hermes(f'{{"name": "w", "arguments": {{"n": {i}}}}}') for i in range(4)) + "ok"
    message = parse(text, max_calls=2)
    assert [call.arguments for call in message.tool_calls] == ['{"n": 0}', '{"n": 1}']
    assert {item.reason for item in message.malformed} == {"there are more calls than max_calls"}
    assert message.content.endswith("ok")
    assert len(parse("[w(n=1), w(n=2), w(n=3)]", "pythonic", max_calls=2).tool_calls) == 2


def test_arguments_beyond_the_limit_are_malformed() -> None:
    text = hermes('{"name": "w", "arguments": {"c": "ééé"}}') + hermes('{"name": "w", "arguments": {}}')
    message = parse(text, max_argument_bytes=9)
    assert [(c.arguments, c.status) for c in message.tool_calls] == [
        ('{"c": "é', "malformed"),
        ("{}", "complete"),
    ]
    assert message.malformed[0].reason == "the arguments are longer than max_argument_bytes"


def test_arguments_nested_too_deep_are_malformed() -> None:
    text = hermes('{"name": "w", "arguments": {"l": [[{}]]}}')
    assert parse(text, max_depth=4).tool_calls[0].is_complete
    message = parse(text, max_depth=3)
    assert (message.tool_calls[0].arguments, message.tool_calls[0].status) == ('{"l": [[', "malformed")
    assert message.malformed[0].reason == "the arguments are nested deeper than max_depth"


def test_what_is_held_too_long_is_text() -> None:
    text = '{"arguments": {"c": "%s"}, "name": "w"}' % ("é" * 50)
    assert parse(text, "llama3_json").tool_calls
    message = parse(text, "llama3_json", max_held_bytes=60)
    assert (message.content, message.tool_calls) == (text, ())
    message = parse(hermes(text) + "ok", max_held_bytes=60)
    assert (message.content, message.tool_calls) == (hermes(text) + "ok", ())
    assert message.malformed[0].reason == "the call is longer than max_held_bytes before its name is certain"


@pytest.mark.parametrize("option", ["max_calls", "max_argument_bytes", "max_depth", "max_held_bytes"])
def test_limits_are_checked_at_the_call(option: str) -> None:
    for value in (0, -1, 2**31):
        with pytest.raises(ArgumentError, match=f"{option} must be from 1 to .*; got {value}"):
            unspool.Parser("hermes", **{option: value})
    with pytest.raises(TypeError, match=option):
        unspool.Parser("hermes", **{option: True})
    with pytest.raises(ArgumentError, match=option):
        unspool.parse_batch(["a"], "hermes", **{option: 0})
