"""What becomes of calls to unknown tools, of more than one call, and of calls inside reasoning."""

from __future__ import annotations

import json
from typing import Any

import pytest
import unspool
from unspool.testing import byte_splits
from unspool.testing.writer import write_answer

TOOLS: list[dict[str, Any]] = [{"name": "known", "parameters": {"properties": {"a": {"type": "string"}}}}]
FORMATS = [file for file in unspool.formats() if file.has_tools]
HERMES = (
    'One.\n<tool_call>\n{"name": "known", "arguments": {"a": "x"}}\n</tool_call>\nTwo.\n<tool_call>\n'
    '{"name": "other", "arguments": {"a": "</tool_call>"}}\n</tool_call>\nThree.'
)


def parse_every_way(text: str, format: Any, **options: Any) -> unspool.Message:
    """The message; the same however the text is cut."""
    messages = []
    for pieces in byte_splits(text.encode()):
        parser = unspool.Parser(format, TOOLS, id_seed=1, **options)
        for piece in pieces:
            parser.parse_chunk(piece)
        messages.append(parser.finish())
    first = messages[0]
    for other in messages:
        assert (other.content, other.tool_calls, other.dropped, other.malformed) == (
            first.content, first.tool_calls, first.dropped, first.malformed,
        )  # fmt: skip
    return first


def names(message: unspool.Message) -> list[str]:
    return [call.name for call in message.tool_calls]


def test_unknown_tools_are_forwarded_unless_told_otherwise() -> None:
    message = parse_every_way(HERMES, "hermes")
    assert names(message) == ["known", "other"]
    assert message.content == "One.Two.\nThree." or message.content.startswith("One.")


def test_unknown_tools_as_content() -> None:
    message = parse_every_way(HERMES, "hermes", unknown_tools="content")
    assert names(message) == ["known"]
    assert '{"name": "other", "arguments": {"a": "</tool_call>"}}\n</tool_call>' in message.content
    assert message.content.endswith("Three.")
    assert not message.dropped
    assert not message.malformed


def test_unknown_tools_dropped_with_a_report() -> None:
    message = parse_every_way(HERMES, "hermes", unknown_tools="drop-with-report")
    assert names(message) == ["known"]
    assert "other" not in message.content
    (report,) = message.dropped
    assert '{"name": "other", "arguments": {"a": "</tool_call>"}}' in report.text
    assert report.reason == "the tool is not one of the request's"
    assert message.finish_reason == "tool_calls"


def test_only_the_first_call_where_parallel_calls_are_off() -> None:
    message = parse_every_way(HERMES, "hermes", parallel_tool_calls=False)
    assert names(message) == ["known"]
    assert "other" in message.dropped[0].text
    assert message.dropped[0].reason == "the request wants one call at most"


@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_policies_hold_in_every_format(file: unspool.FormatFile) -> None:
    made: list[tuple[str, dict[str, Any]]] = [("known", {"a": "x"}), ("other", {"a": "y"}), ("known", {})]
    if any(call.get("known_tools") == "required" for call in file.description["call"]):
        made.pop(1)  # there an unknown name is no call at all
    text = write_answer(file, "", "", made)
    kept = [(name, arguments) for name, arguments in made if name == "known"]
    for policy in ("content", "drop-with-report"):
        message = unspool.parse(text, file, TOOLS, unknown_tools=policy)
        assert [(c.name, json.loads(c.arguments)) for c in message.tool_calls] == kept, policy
        assert ("other" in message.content) == (policy == "content" and len(made) == 3)
        assert len(message.dropped) == (policy != "content" and len(made) == 3)
    message = unspool.parse(text, file, TOOLS, parallel_tool_calls=False)
    assert names(message) == ["known"]
    assert message.dropped


@pytest.mark.parametrize("name", ["qwen3", "kimi_k2", "glm45", "deepseek_v31"])
def test_a_call_inside_reasoning_as_the_caller_wants(name: str) -> None:
    file = unspool.get_format(name)
    inner = write_answer(file, "", "", [("known", {"a": "x"})])
    text = f"<think>\nI will call {inner}"
    kept = unspool.parse(text, name, TOOLS, tool_calls_in_reasoning="keep")
    assert not kept.tool_calls
    assert "known" in kept.reasoning
    ended = unspool.parse(text, name, TOOLS, tool_calls_in_reasoning="end")
    assert names(ended) == ["known"]
    assert ended.reasoning.strip() == "I will call"


@pytest.mark.parametrize(
    "options", [{"unknown_tools": "maybe"}, {"tool_calls_in_reasoning": "drop"}], ids=str
)
def test_bad_options_raise(options: dict[str, Any]) -> None:
    with pytest.raises(unspool.ArgumentError, match=next(iter(options))):
        unspool.Parser("qwen3", **options)
