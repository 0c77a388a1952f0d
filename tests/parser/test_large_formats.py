"""Formats of many calls and long markers: each opener leads to its call, and what is too large is refused."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import unspool
from unspool import Format, FormatError, FormatFile, ToolSchemas


def call(opener: str, closer: str = "</end>") -> str:
    return f"{opener}${{name}}|${{arguments}}{closer}"


def read(format: Format, output: str) -> list[tuple[str, str]]:
    message = unspool.parse(output, format)
    return [(call.name, call.arguments) for call in message.tool_calls]


@pytest.mark.parametrize("split", [True, False])
def test_more_than_256_openers(split: bool) -> None:
    """Each opener's call is read with that call's own closer and body (N12)."""
    count = 300
    openers = [f"<open{i}>" for i in range(count)]
    calls = [call(openers[i], f"</end{i % 200}>") for i in range(count)]
    format = Format(FormatFile(name="many", patterns={"call": calls}))
    for i in range(count):
        output = f'{openers[i]}f{i}|{{"n": {i}}}</end{i % 200}>after'
        parser = unspool.Parser(format)
        pieces = list(output) if split else [output]
        for piece in pieces:
            parser.parse_chunk(piece)
        message = parser.finish()
        assert [(one.name, one.arguments) for one in message.tool_calls] == [(f"f{i}", f'{{"n": {i}}}')]
        assert message.content == "after"
        assert message.tool_calls[0].status == "complete"


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ({"call": [call(f"<{i}>") for i in range(1001)]}, "write one to 1,000 alternatives"),
        ({"call": [call("<" * 1025)]}, "a marker has 1025 bytes; at most 1024"),
        ({"call": [call(" " * 65 + "<a>")]}, "more than 64 bytes"),
        ({"call": [call(f"<{i}|" + "<" * 1000) for i in range(1000)]}, "too many or too long"),
        (
            {"call": [call("<a>")], "content": [f"<b{i}>" for i in range(201)]},
            "more than 200 kinds of markup",
        ),
    ],
)
def test_what_is_too_large_is_refused(patterns: dict[str, Any], message: str) -> None:
    begin = time.thread_time()
    with pytest.raises(FormatError, match=message):
        Format(FormatFile(name="large", patterns=patterns))
    assert time.thread_time() - begin < 20


def nested_schema(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"n": {"type": "integer"}, "x": schema}}
    return schema


@pytest.mark.parametrize("depth", [200, 300, 2_000, 100_000])
def test_a_schema_of_any_depth_is_taken(depth: int) -> None:
    """What is deeper than the core looks may be of any type (N11)."""
    tools = [{"function": {"name": "f", "parameters": nested_schema(depth)}}]
    message = unspool.parse(
        "<tool_call>\n<function=f>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>",
        "qwen3_coder",
        tools,
    )
    assert message.tool_calls[0].arguments == '{"n": 1}'
    as_text = '{"properties": {"a": ' * depth + '{"type": "string"}' + "}}" * depth
    assert (
        len(unspool.core.stream.tool_schemas.compile_tools([{"name": "f", "parameters": as_text}]) or ()) == 1
    )


def seconds(count: int) -> float:
    """The least processor time of several tries."""
    schema = {
        "properties": {f"p{i}": {"$ref": f"#/$defs/d{i}"} for i in range(count)},
        "$defs": {f"d{i}": {"type": "integer"} for i in range(count)},
    }
    tools = {"f": json.dumps(schema)}
    tries = []
    for _ in range(3):
        begin = time.thread_time()
        ToolSchemas(tools)
        tries.append(time.thread_time() - begin)
    return min(tries)


def test_definitions_take_linear_time() -> None:
    """Eight times as many definitions took 50 times as long (N11)."""
    assert seconds(40_000) < 25 * seconds(5_000)
