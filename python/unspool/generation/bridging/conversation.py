"""The conversations that the template renders: short ones with known values, and the parsed one."""

from __future__ import annotations

import json
from typing import Any

from unspool.core.stream.message import Message, ToolCall
from unspool.formats.learning.probe import USER, Shape

__all__ = ["HELD", "USER", "known_answer", "parsed_answer"]

#: A placeholder in the known answer for the model's last text or argument.
HELD = "zqheld"


def known_answer(message: Message, shape: Shape) -> dict[str, Any]:
    """A short answer with the names, ids and order of the real calls."""
    if not message.tool_calls:
        return {"role": "assistant", "content": HELD}
    calls = [_call(call, {"zqkey": HELD}, shape) for call in message.tool_calls]
    return {"role": "assistant", "content": _content("", shape), "tool_calls": calls}


def parsed_answer(message: Message, shape: Shape) -> dict[str, Any]:
    """The answer in the form that the template expects."""
    made: dict[str, Any] = {"role": "assistant", "content": _content(message.content, shape)}
    if message.reasoning and shape.reasoning == "parts":
        text = [{"type": "text", "text": message.content}] if message.content else []
        made["content"] = [{"type": "thinking", "thinking": message.reasoning}, *text]
    elif message.reasoning:
        made.update(dict.fromkeys(("reasoning_content", "reasoning", "thinking"), message.reasoning))
    if message.tool_calls:
        made["tool_calls"] = [_call(call, json.loads(call.arguments), shape) for call in message.tool_calls]
    return made


def _content(text: str, shape: Shape) -> str | None:
    return text or (None if shape.has_no_content else "")


def _call(call: ToolCall, arguments: Any, shape: Shape) -> dict[str, Any]:
    given = json.dumps(arguments, ensure_ascii=False) if shape.has_text_arguments else arguments
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": given}}
