"""Finds the first difference between a rendered answer and the message that it parses to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from unspool.core.stream.message import Message, ToolCall
from unspool.writing.render.given_answer import Answer, AnswerCall

__all__ = ["what_differs"]

_SHOWN = 60


def what_differs(answer: Answer, read: Message, exact: bool, ids: Sequence[str] = ()) -> str | None:
    """Describe the first part that parses differently; return None if there is none.

    Args:
        ids: The calls' ids as rendered; an empty text for a call without id.
        exact: Whether white space at both ends of content and reasoning is compared.
    """
    if len(read.tool_calls) < len(answer.calls):
        number = len(read.tool_calls)
        return f"call {number} ({answer.calls[number].name}): only {number} of {len(answer.calls)} calls are read"
    for part, meant, parsed in (
        ("reasoning", answer.reasoning, read.reasoning),
        ("content", answer.content, read.content),
    ):
        if meant != parsed and (exact or meant.strip() != parsed.strip()):
            return f"the {part} {_shown(meant)}: it parses as {_shown(parsed)}"
    if len(read.tool_calls) > len(answer.calls):
        return f"this message: {len(read.tool_calls)} calls are read, not {len(answer.calls)}"
    for number, (meant_call, other) in enumerate(zip(answer.calls, read.tool_calls, strict=True)):
        found_difference = _call_difference(meant_call, other)
        if found_difference:
            return f"call {number} ({meant_call.name}): {found_difference}"
    for number, (written, call) in enumerate(zip(ids, read.tool_calls, strict=False)):
        if written not in ("", call.id):
            return f"call {number} ({call.name}): the id {_shown(written)} parses as {_shown(call.id)}"
    if len(read.malformed) != answer.reports:
        texts = [_shown(report.text) for report in read.malformed] or ["none"]
        return f"this message: the texts that are reported as malformed are {', '.join(texts)}"
    return None


def _call_difference(call: AnswerCall, read: ToolCall) -> str | None:
    if not read.is_complete:
        return f"it parses as {read.status}"
    if call.name != read.name:
        return f"the name parses as {_shown(read.name)}"
    return _value_difference("the arguments", call.arguments, json.loads(read.arguments))


def _value_difference(place: str, meant: Any, read: Any) -> str | None:
    """Describe the first value that differs. Numbers are compared as numbers; true is not a number."""
    if isinstance(meant, Mapping) and isinstance(read, Mapping) and meant.keys() == read.keys():
        inner = [(f"{key!r} in {place}", meant[key], read[key]) for key in meant]
    elif isinstance(meant, (list, tuple)) and isinstance(read, list) and len(meant) == len(read):
        inner = [(f"item {index} of {place}", one, read[index]) for index, one in enumerate(meant)]
    else:
        is_equal = meant == read and isinstance(meant, bool) == isinstance(read, bool)
        return None if is_equal else f"{place}: {_shown(meant)} parses as {_shown(read)}"
    return next((found for part in inner if (found := _value_difference(*part))), None)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
