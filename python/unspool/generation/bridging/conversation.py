"""The answers that the template renders: a short one with known values, and the parsed one."""

from __future__ import annotations

import json
from typing import Any

from unspool.core.stream.message import Message
from unspool.formats.learning.probe import USER, Shape, assistant_message

__all__ = ["HELD", "USER", "known_answer", "parsed_answer"]

#: A placeholder in the known answer for the model's last text or argument.
HELD = "zqheld"


def known_answer(message: Message, shape: Shape) -> dict[str, Any]:
    """A short answer with the names, ids and order of the real calls."""
    calls = [(call.id, call.name, {"zqkey": HELD}) for call in message.tool_calls]
    return assistant_message(shape, "" if calls else HELD, calls=calls)


def parsed_answer(message: Message, shape: Shape) -> dict[str, Any]:
    """The answer in the form that the template expects."""
    calls = [(call.id, call.name, json.loads(call.arguments)) for call in message.tool_calls]
    return assistant_message(shape, message.content, message.reasoning, calls)
