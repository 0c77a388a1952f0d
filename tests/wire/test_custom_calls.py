"""Calls of custom tools on the wire: the text of `input`, decoded, however the arguments are cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from unspool import ArgumentError, Parser, WireWriter

TOOLS = [{"type": "custom", "custom": {"name": "edit"}}, {"type": "function", "function": {"name": "f"}}]
INPUT = '+"a" \\ é😀\n\t-b'
OPTIONS: dict[str, Any] = {"model": "m", "custom_tools": ["edit"]}


def output(arguments: str, name: str = "edit") -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def sent(text: str, size: int, moved: bool = False, **options: Any) -> list[dict[str, Any]]:
    options = {**OPTIONS, **options}
    parser, writer = Parser("hermes", TOOLS), WireWriter("chat_completions", **options)
    out = writer.begin()
    for at in range(0, len(text), size):
        for delta in parser.parse_chunk(text[at : at + size], []):
            out += writer.write(delta)
        if moved:
            writer = WireWriter.restore(writer.snapshot(), "chat_completions", **options)
    out += writer.write(parser.parse_chunk(None, None, "stop")) + writer.end()
    lines = [line[6:] for line in out.decode().splitlines() if line.startswith("data: {")]
    deltas = [json.loads(line)["choices"][0]["delta"] for line in lines]
    return [entry for delta in deltas for entry in delta.get("tool_calls", ())]


def input_of(entries: list[dict[str, Any]]) -> str:
    assert entries[0]["type"] == "custom"
    return "".join(entry["custom"]["input"] for entry in entries)


@pytest.mark.parametrize("moved", [False, True], ids=["", "restored"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    "arguments",
    [
        json.dumps({"input": INPUT}),
        json.dumps({"input": INPUT}, ensure_ascii=False),
        json.dumps(
            {"other": {"input": ["no", {"input": "no"}], "x": "}"}, "n": -1, "input": INPUT, "last": "no"}
        ),
        json.dumps({"in\\put": "no", "input": INPUT}).replace("input", "in\\u0070ut", 1),
    ],
)
def test_the_text_is_that_of_the_argument(arguments: str, size: int, moved: bool) -> None:
    entries = sent(output(arguments), size, moved)
    assert input_of(entries) == INPUT
    if size == 1:
        assert len(entries) > 10, "the text streams"


@pytest.mark.parametrize("arguments", ["{}", '{"input": 5}', '{"text": "x"}'])
def test_arguments_without_such_a_text_send_none(arguments: str) -> None:
    assert input_of(sent(output(arguments), 3)) == ""


def test_withheld_calls_and_bodies_have_the_text() -> None:
    (entry,) = sent(output(json.dumps({"input": INPUT})), 2, incomplete_calls="withhold")
    assert entry["custom"] == {"name": "edit", "input": INPUT}
    for protocol in ("chat_completions", "responses"):
        parser, writer = Parser("hermes", TOOLS), WireWriter(protocol, stream=False, **OPTIONS)
        writer.write(parser.parse_chunk(output(json.dumps({"input": INPUT})), []))
        writer.write(parser.parse_chunk(None, None, "stop"))
        body = json.loads(writer.body())
        call = (
            body["output"][0]
            if "output" in body
            else body["choices"][0]["message"]["tool_calls"][0]["custom"]
        )
        assert (call["name"], call["input"]) == ("edit", INPUT)


def test_a_function_keeps_its_arguments() -> None:
    entries = sent(output('{"input": "x"}', "f"), 3)
    assert entries[0]["type"] == "function"
    assert "".join(entry["function"]["arguments"] for entry in entries) == '{"input": "x"}'


@pytest.mark.parametrize("protocol", ["messages", "completions", "open_inference", "google"])
def test_other_protocols_have_none(protocol: str) -> None:
    with pytest.raises(ArgumentError, match="leave it out"):
        WireWriter(protocol, **OPTIONS)
