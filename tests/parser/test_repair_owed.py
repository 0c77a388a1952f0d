"""T15: what `repair=True` does not mend yet. Each needs more than one reader of today's; the test passes once one does."""

from __future__ import annotations

import json

import pytest
from unspool import parse

CITY = {"city": {"type": "string"}}
TOOLS = [
    {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": CITY}}}
]
PARIS = [("f", {"city": "Paris"})]

OWED = {
    "ASCII pipes in DSML": (
        "deepseek_v32",
        '<|DSML|function_calls>\n<|DSML|invoke name="f">\n<|DSML|parameter name="city" string="true">Paris'
        "</|DSML|parameter>\n</|DSML|invoke>\n</|DSML|function_calls>",
        "",
        PARIS,
    ),
    "lfm2 writes the body twice": (
        "lfm2",
        '<|tool_call_start|>[f(city="Paris")]<|tool_call_end|>[f(city="Paris")]<|tool_call_end|>',
        "",
        PARIS,
    ),
}


@pytest.mark.xfail(reason="T15, owed by the machine that runs patterns", strict=True)
@pytest.mark.parametrize("name", OWED)
def test_owed_repair(name: str) -> None:
    format, output, content, calls = OWED[name]
    message = parse(output, format, TOOLS, repair=True)
    assert message.content.strip() == content
    assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == calls
    assert all(call.status == "complete" for call in message.tool_calls)
    assert not message.malformed
    assert message.tool_calls[0].repairs
