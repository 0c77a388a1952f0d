"""An answer without calls says which format would have read one."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from unspool import Parser, TokenStreamer, Vocabulary, parse
from unspool.streams import wrong_format

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
            },
        },
    }
]
CALLS = {
    "hermes": '<tool_call>\n{"name": "read", "arguments": {"path": "a.txt"}}\n</tool_call>',
    "devstral": '[TOOL_CALLS]read[ARGS]{"path": "a.txt"}',
    "qwen3_coder": "<tool_call>\n<function=read>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>",
    "deepseek_v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n"
    '{"path": "a.txt"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
}


@pytest.mark.parametrize("own", ["hermes", "devstral", "llama3_json"])
@pytest.mark.parametrize("other", list(CALLS))
def test_another_familys_call_is_noticed(own: str, other: str) -> None:
    message = parse(f"I look.\n{CALLS[other]}", own, TOOLS)
    assert message.hint == (None if message.tool_calls else other)
    assert message.tool_calls or own != other


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("I call `read` with [a path](a.txt) and {}.", {}),
        ('[TOOL_CALLS]write[ARGS]{"path": "a.txt"}', {}),  # no tool of the request
        ('[TOOL_CALLS]read[ARGS]{"path": 3}', {}),  # not of its schema
        (CALLS["devstral"], {"tool_choice": "none"}),
        (CALLS["devstral"], {"only_reasoning": True}),
        (CALLS["devstral"], {"also": "devstral"}),
    ],
)
def test_nothing_else_is(text: str, options: dict[str, Any]) -> None:
    assert parse(text, "hermes", TOOLS, **options).hint is None


def test_without_tools_there_is_none() -> None:
    assert parse(CALLS["devstral"], "hermes").hint is None
    assert parse(CALLS["devstral"], "hermes", []).hint is None


def test_the_stream_sends_the_same(caplog: pytest.LogCaptureFixture) -> None:
    """The hint is of the message alone. It is logged once."""
    wrong_format._logged.clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            parser = Parser("hermes", iter(TOOLS))
            deltas = parser.parse_chunk(CALLS["devstral"])
            message = parser.finish()
            text = "".join(delta.text for delta in [*deltas, *message.deltas] if delta.kind == "content")
            assert (text, message.hint) == (CALLS["devstral"], "devstral")
    assert [record.getMessage() for record in caplog.records] == [
        "format 'hermes' read no call, and 'devstral' would; pass also='devstral'"
    ]


def test_a_fork_and_a_token_streamer_have_it() -> None:
    parser = Parser("hermes", TOOLS)
    parser.parse_chunk(CALLS["devstral"])
    assert parser.fork().finish().hint == "devstral"
    vocabulary = Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)
    streamer = TokenStreamer(vocabulary, "hermes", TOOLS)
    streamer.put(list(CALLS["devstral"].encode()))
    assert streamer.finish().hint == "devstral"
