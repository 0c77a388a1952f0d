"""Converts deltas and messages to the host's classes."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from unspool._core import Delta
from unspool.core.stream.message import Message
from unspool.integrations.vllm.host import REASONING_FIELD, protocol

__all__ = ["to_calls", "to_message", "whole_calls"]

logger = logging.getLogger("vllm.unspool")


def to_message(deltas: Iterable[Delta]) -> Any:
    """Return a `DeltaMessage` with all deltas of a chunk, one entry for each call; None if there are no deltas."""
    content, reasoning = "", ""
    calls: dict[int, Any] = {}
    for delta in deltas:
        kind, index = delta.kind, delta.index
        if kind == "reasoning":
            reasoning += delta.text
        elif delta.is_content:
            content += delta.text
        elif kind == "tool_call_begin":
            calls[index or 0] = {"id": delta.id, "type": "function", "name": delta.name, "arguments": ""}
        elif kind == "tool_call_arguments":
            call = calls.setdefault(index or 0, {"arguments": ""})
            call["arguments"] += delta.text
    fields: dict[str, Any] = {}
    if reasoning:
        fields[REASONING_FIELD] = reasoning
    if content:
        fields["content"] = content
    if calls:
        fields["tool_calls"] = [_call_delta(index, **call) for index, call in calls.items()]
    return protocol.DeltaMessage(**fields) if fields else None


def _call_delta(index: int, arguments: str, name: str | None = None, **head: Any) -> Any:
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return protocol.DeltaToolCall(index=index, function=protocol.DeltaFunctionCall(**function), **head)


def whole_calls(message: Message) -> list[Any]:
    """Return the complete calls. A whole answer cannot express a call's state, and a client might run an incomplete
    call."""
    for call in message.tool_calls:
        if not call.is_complete:
            logger.warning("a call is %s and not sent: %r %.200r", call.status, call.name, call.arguments)
    return [call for call in message.tool_calls if call.is_complete]


def to_calls(message: Message) -> list[Any]:
    return [
        protocol.ToolCall(
            id=call.id, function=protocol.FunctionCall(name=call.name, arguments=call.arguments)
        )
        for call in whole_calls(message)
    ]
