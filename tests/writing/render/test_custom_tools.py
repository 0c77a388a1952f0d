"""A call of a custom tool is written in the family's envelope, and read back."""

from __future__ import annotations

import json

import pytest
import unspool
from unspool.generation.prompts.history import prepare_messages

TOOL = {"type": "custom", "custom": {"name": "apply_patch", "format": {"type": "text"}}}
INPUT = '<<< patch\n+"quoted" \\ and a\ttab\n>>> end'
CALL = {"id": "call_1", "type": "custom", "custom": {"name": "apply_patch", "input": INPUT}}


@pytest.mark.parametrize(
    "file", [file for file in unspool.formats() if file.has_tools], ids=lambda file: file.name
)
def test_it_is_read_back(file: unspool.FormatFile) -> None:
    message = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    (call,) = unspool.parse(file.render(message, tools=[TOOL]), file, [TOOL]).tool_calls
    assert (call.name, json.loads(call.arguments)) == ("apply_patch", {"input": INPUT})


def test_a_template_sees_a_function() -> None:
    class Template:
        chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"

    messages = prepare_messages([{"role": "assistant", "content": "", "tool_calls": [CALL]}])
    (call,) = messages[0]["tool_calls"]
    assert call["type"] == "function"
    assert "apply_patch" in json.dumps(call["function"])
