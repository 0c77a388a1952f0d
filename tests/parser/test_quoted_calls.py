"""A call that a string between quote tokens quotes is the string's text."""

from __future__ import annotations

import json

import pytest
from unspool import Parser

CALL = '<|tool_call>call:f{city:<|"|>Paris<|"|>}<tool_call|>'
VALUES = {
    "a call": CALL,
    "text around it": f"See {CALL} and {CALL}.",
    "a lost quote": CALL.replace('<|"|>', "", 1),
    "a closer in the quoted string": CALL.replace("Paris", "<tool_call|> now"),
    "an opener and a quote": 'Write <|tool_call> and <|"|> there.',
    "an opener": "x = '<|tool_call>'",
    "a header": "<|tool_call>call:f{",
}
LIMIT = 24


def read(pieces: list[str], **options: int) -> list[tuple[str, str, str]]:
    parser = Parser("gemma4", **options)
    for piece in pieces:
        parser.parse_chunk(piece)
    message = parser.finish("stop")
    return [(call.name, call.arguments, call.status) for call in message.tool_calls]


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("behind", ["", "ok", CALL])
def test_a_value_quotes_a_call(kind: str, behind: str) -> None:
    value = VALUES[kind]
    output = f'<|tool_call>call:write{{text:<|"|>{value}<|"|>,n:[3]}}<tool_call|>{behind}'
    calls = read([output])
    assert calls[0] == ("write", json.dumps({"text": value, "n": [3]}, separators=(",", ":")), "complete")
    assert [name for name, _, _ in calls] == ["write"] + ["f"] * (behind == CALL)
    for options in ({}, {"max_held_bytes": LIMIT}):
        whole = read([output], **options)
        assert read(list(output), **options) == whole
        assert all(read([output[:i], output[i:]], **options) == whole for i in range(1, len(output)))
