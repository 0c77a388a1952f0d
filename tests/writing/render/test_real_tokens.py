"""Rendering by the ids of a real tokenizer."""

from __future__ import annotations

import json
from typing import Any

import pytest
import unspool

TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
]
FORMATS = ["deepseek_v31", "deepseek_v32", "hermes", "glm45", "gemma4"]


def message(city: str, thought: str) -> dict[str, Any]:
    call = {"function": {"name": "get_weather", "arguments": {"city": city}}}
    return {"content": "Zürich 世界", "reasoning": thought, "tool_calls": [call]}


@pytest.mark.parametrize("format", FORMATS)
def test_ids_are_those_of_the_text(format: str, deepseek: Any) -> None:
    """Where no text spells a marker, the tokens are the tokenizer's own."""
    file = unspool.get_format(format)
    given = message("Zürich <b>", "Hm." if file.has_reasoning else "")
    ids = file.render_ids(given, deepseek.vocabulary, deepseek.encode, tools=TOOLS)
    assert ids == list(deepseek.encode(file.render(given, tools=TOOLS)))


@pytest.mark.parametrize("format", ["deepseek_v31", "deepseek_v32"])
def test_a_text_full_of_markers_survives(format: str, deepseek: Any) -> None:
    file = unspool.get_format(format)
    markers = [
        content
        for content in deepseek.vocabulary.added_tokens.values()
        if "tool" in content or "end" in content
    ]
    assert "<｜end▁of▁sentence｜>" in markers
    city, thought = " ".join(markers), f"It </think> {markers[0]}"
    ids = file.render_ids(message(city, thought), deepseek.vocabulary, deepseek.encode, tools=TOOLS)
    read = unspool.parse(ids, file, TOOLS, tokenizer=deepseek.vocabulary)
    assert (read.reasoning, read.content) == (thought, "Zürich 世界")
    assert [json.loads(call.arguments) for call in read.tool_calls] == [{"city": city}]
    assert not read.malformed
