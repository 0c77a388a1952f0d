"""Tagged parameters: what `repair=True` reports, names that are too long, and missing closing tags."""

from __future__ import annotations

import json

import pytest
import unspool
from unspool.testing import byte_splits

TOOLS = [
    {
        "name": "f",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object"}},
        },
    }
]


def read(text: str, format: str, **options: object) -> unspool.Message:
    """The message; the same at every split."""
    found = set()
    for pieces in byte_splits(text.encode()):
        parser = unspool.Parser(format, TOOLS, id_seed=1, **options)  # type: ignore[arg-type]
        for piece in pieces:
            parser.parse_chunk(piece)
        message = parser.finish()
        found.add((message.content, message.tool_calls, message.malformed))
    assert len(found) == 1
    return message


@pytest.mark.parametrize(
    ("format", "text", "meant", "repairs"),
    [
        (
            "qwen3_coder",
            "<function=f>\n<parameter=o>\n{'k': True}\n</parameter>\n</function>",
            {"o": {"k": True}},
            ("single quotes", "python literal"),
        ),
        (
            "qwen3_coder",
            '<function=f>\n<parameter=o>\n{"k": "\\/", "l": true}\n</parameter>\n</function>',
            {"o": {"k": "/", "l": True}},
            (),
        ),
        (
            "minimax_m2",
            '</think><invoke name="f"><parameter name="n">1</parameter><parameter name="n">2</parameter></invoke>',
            {"n": 1},
            ("duplicate key",),
        ),
        (
            "glm47",
            "</think><tool_call>f<arg_key>city</arg_key>Paris</arg_value></tool_call>",
            {"city": "Paris"},
            ("markup",),
        ),
        (
            "glm47",
            "</think><tool_call>f<arg_key>city</arg_key><arg_value>Paris</tool_call>",
            {"city": "Paris"},
            (),
        ),
    ],
)
def test_every_repair_is_reported(format: str, text: str, meant: object, repairs: tuple[str, ...]) -> None:
    message = read(text, format, repair=True)
    (call,) = message.tool_calls
    assert call.is_complete
    assert json.loads(call.arguments) == meant
    assert call.repairs == repairs
    assert not message.malformed


@pytest.mark.parametrize(
    ("format", "before"),
    [
        ("qwen3_coder", "<function=f>\n<parameter="),
        ("glm45", "<tool_call>f\n<arg_key>"),
        ("minimax_m2", '</think><invoke name="f">\n<parameter name="'),
        ("minimax_m3", ']<]minimax[>[<invoke name="f">]<]minimax[>[<'),
    ],
)
def test_a_name_that_is_too_long_is_reported_whole(format: str, before: str) -> None:
    """T20: it was cut inside a character."""
    name = "é😀" * 700
    message = read(before + name, format)
    assert [call.status for call in message.tool_calls] == ["malformed"]
    assert name in "".join(item.text for item in message.malformed)


def test_a_value_without_its_closing_tag_holds_no_more_than_a_few_tags() -> None:
    """T2: what may be a closing tag is held only until it shows what it is."""
    parser = unspool.Parser("glm45", TOOLS)
    parser.parse_chunk("<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>")
    for _ in range(2000):
        parser.parse_chunk("a</tool_call> </tool_call>\n</arg_value> b <tool_call> g ")
        assert parser.held_bytes < 100


def test_a_value_that_may_quote_a_call_holds_no_more_than_the_limit() -> None:
    parser = unspool.Parser("glm45", TOOLS, max_held_bytes=10_000)
    parser.parse_chunk("<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>")
    for _ in range(2000):
        parser.parse_chunk("a <tool_call>f <arg_key>n</arg_key><arg_value>1</arg_value></tool_call>")
        assert parser.held_bytes < 10_200


@pytest.mark.parametrize(
    ("format", "call"),
    [
        (
            "step3",
            '<steptml:invoke name="f"><steptml:parameter name="a>b">x</steptml:parameter></steptml:invoke>',
        ),
        ("beam", '<rfl:parameter name="a>b">x</rfl:parameter>'),
        (
            "qwen3_coder",
            '<tool_call>\n<function=f>\n<parameter="a>b>\nx\n</parameter>\n</function>\n</tool_call>',
        ),
    ],
)
def test_a_key_with_half_its_quotes_is_malformed(format: str, call: str) -> None:
    """It was a complete call with the key `"a`."""
    framed = {
        "step3": f"<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>{call}<｜tool_call_end｜><｜tool_calls_end｜>",
        "beam": f"<|start|>assistant to=f<|channel|>analysis <|constrain|>xml<|message|>{call}<|call|>",
    }
    message = read(framed.get(format, call), format)
    assert [one.status for one in message.tool_calls] == ["malformed"]
    assert [one.reason for one in message.malformed] == ["a parameter's name holds markup"]


@pytest.mark.parametrize("next_tag", ["<parameter=n>3</parameter>\n</function>", "</function>"])
def test_without_a_closing_tag_a_line_break_belongs_to_the_next_one(next_tag: str) -> None:
    text = f"<seed:tool_call>\n<function=f>\n<parameter=city>Paris\n{next_tag}\n</seed:tool_call>"
    (call,) = read(text, "seed_oss").tool_calls
    assert json.loads(call.arguments)["city"] == "Paris"
