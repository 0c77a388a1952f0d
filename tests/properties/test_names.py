"""A complete call's name holds no markup, bracket, quote or space, unless a tool has that name."""

from __future__ import annotations

import json

import pytest
import unspool
from unspool import FormatFile, Message

from ..outputs import render
from .laws import steps, untold, vocabulary

TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
]
FILES = [pytest.param(file, id=file.name) for file in unspool.formats() if file.has_tools]
WRONG = [
    "get_weather[THINK]",
    "get_weather[ARGS",
    "get_weather(city)",
    "get_weather]",
    "get weather",
    "get_weather`",
    "get_weather<b>",
    "get'weather",
]


def outputs_of(file: FormatFile, name: str) -> list[str]:
    """A call with this name in each form that the format has."""
    forms = range(len(file.facts.calls))
    calls = [("get_weather", {"city": "Paris"})]
    answers = {render(file, "", "", calls, form) for form in forms}
    return sorted(answer.replace("get_weather", name) for answer in answers if "get_weather" in answer)


def read(file: FormatFile, output: str, tools: list[dict[str, object]] | None, by_id: bool) -> Message:
    tokenizer = vocabulary(file.name) if by_id else None
    parser = unspool.Parser(file, tools, tokenizer=tokenizer, start_in="content", audit=True)
    if by_id:
        parser.parse_chunk(tokens=[id for _, id in steps(file.name, output)])
    else:
        parser.parse_chunk(output)
    return parser.finish()


@pytest.mark.parametrize("by_id", [False, True], ids=["text", "ids"])
@pytest.mark.parametrize("file", FILES)
def test_what_is_no_name_calls_nothing(file: FormatFile, by_id: bool) -> None:
    for name in WRONG:
        for output in outputs_of(file, name):
            for tools in (TOOLS, None):
                message = read(file, output, tools, by_id)
                complete = [call.name for call in message.tool_calls if call.is_complete]
                assert not set("".join(complete)) & set(" <>()[]{}\"'`"), output
                assert not untold(message, output)


@pytest.mark.parametrize("name", ["get weather", "get_weather(city)", "get_weather[1]"])
def test_a_tool_may_have_such_a_name(name: str) -> None:
    tools = [{**TOOLS[0], "name": name}]
    outputs = {
        "hermes": "<tool_call>\n" + json.dumps({"name": name, "arguments": {}}) + "\n</tool_call>",
        "qwen3_coder": f"<tool_call>\n<function={name}>\n</function>\n</tool_call>",
        "mistral": f"[TOOL_CALLS]{name}[ARGS]{{}}",
    }
    for format, output in outputs.items():
        calls = unspool.parse(output, format, tools).tool_calls
        assert [(call.name, call.status) for call in calls] == [(name, "complete")]


@pytest.mark.parametrize(
    ("format", "output"),
    [
        (
            "kimi_k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.f0<|tool_call_argument_begin|>{}"
            "<|tool_call_end|><|tool_calls_section_end|>",
        ),
        (
            "solar_open",
            "<|tool_calls|><|tool_call:begin|>abc123<|tool_call:args|>{}<|tool_call:end|><|calls|>",
        ),
    ],
)
def test_what_stands_for_the_id_is_no_name(format: str, output: str) -> None:
    message = unspool.parse(output, format, TOOLS)
    assert not message.tool_calls
    assert [item.text for item in message.malformed] == [output] == [message.content]
