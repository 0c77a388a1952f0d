"""What `print` shows of an object is one short line, whatever the model wrote."""

from __future__ import annotations

import ast
import json

import pytest
import unspool
from hypothesis import given
from hypothesis import strategies as st
from unspool.core.short_repr import short_repr
from unspool.core.stream.tool_schemas import compile_tools

MOST = 1_200
TOOLS = [{"name": "f", "parameters": {"required": ["b"]}}]
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


@given(st.text(max_size=2_000), st.integers(6, 200))
def test_a_long_text_is_cut(text: str, most: int) -> None:
    shown = short_repr(text, most)
    assert len(shown) <= max(most, 40) + 40
    assert "\n" not in shown
    if len(text) <= most and len(repr(text)) <= most + 40:
        assert ast.literal_eval(shown) == text
    else:  # the ends are whole literals, and what is between them is outside of both
        head, _, tail = shown.partition(" … ")
        literal, _, length = tail.rpartition(" (")
        assert text.startswith(ast.literal_eval(head))
        assert text.endswith(ast.literal_eval(literal))
        assert length == f"{len(text):,} characters)"


def test_one_call() -> None:
    message = unspool.parse(f"Hi {CALL}", "hermes", TOOLS, id_seed=1)
    call = f"ToolCall(id='{message.tool_calls[0].id}', name='f', arguments='{{\"a\": 1}}', status='complete')"
    assert repr(message.tool_calls[0]) == call
    assert repr(message) == f"Message(content='Hi ', tool_calls=[{call}], finish_reason='tool_calls')"
    assert repr(unspool.parse("", "hermes")) == "Message(content='', finish_reason='stop')"


@pytest.mark.parametrize("letter", ["a", "\x00", "\U0010ffff", "'\""])
def test_every_object_is_short(letter: str) -> None:
    text = letter * 5_000
    broken = f'<tool_call>\n{{"name": "f", "arguments": {{"b": 1}} {text}\n</tool_call>'
    calls = "".join(
        f"<tool_call>\n{json.dumps({'name': 'f' * 900, 'arguments': {letter: text}})}\n</tool_call>"
        for _ in range(20)
    )
    parser = unspool.Parser("qwen3", audit=True)
    deltas = parser.parse_chunk(f"<think>{text}</think>{text}{calls}{broken * 5}")
    message = parser.finish("stop")
    assert len(message.tool_calls) > 15
    assert message.malformed
    compiled = compile_tools([{"name": f"{letter}{number}" * 9} for number in range(300)])
    shown = [
        *deltas, *message.deltas, *message.tool_calls, *message.malformed, message, parser, compiled,
        *unspool.ArgumentReader().put([*deltas, *message.deltas]),
        unspool.get_format("hermes").grammar([{"name": "f" * 500}]),
        unspool.DeltaChannel(3), unspool.get_format("hermes"),
        unspool.WireWriter("chat_completions", model=text),
    ]  # fmt: skip
    for value in shown:
        line = repr(value)
        assert len(line) <= MOST, line
        assert line.startswith(type(value).__name__)
        assert "\n" not in line


def test_live_objects_say_their_state() -> None:
    parser = unspool.Parser("hermes")
    parser.parse_chunk("Hi <tool")
    assert repr(parser) == "Parser(format='hermes', region='content', held_bytes=5, is_finished=False)"
    channel = unspool.DeltaChannel(2)
    channel.cancel()
    assert repr(channel) == "DeltaChannel(maxsize=2, is_closed=True, is_cancelled=True, is_finished=True)"
    assert repr(compile_tools(TOOLS)) == "ToolSchemas(names=['f'])"
    unmade = unspool.Parser.__new__(unspool.Parser)
    assert repr(unmade) == "Parser(format=…, region=…, held_bytes=…, is_finished=…)"
