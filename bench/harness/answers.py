"""Joins deltas and chunks in OpenAI's form to an answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from peers import Answer


def of_deltas(deltas: Iterable[Any]) -> Answer:
    """Join objects with `content` and `tool_calls`, as vLLM and LMDeploy return them; None counts as nothing."""
    content, arguments = "", ""
    for delta in deltas:
        if delta is None:
            continue
        content += delta.content or ""
        for call in delta.tool_calls or ():
            arguments += (call.function.arguments or "") if call.function else ""
    return content, arguments


def of_chunks(chunks: Iterable[dict[str, Any]]) -> Answer:
    """Join a response's chunks."""
    content, arguments = "", ""
    for chunk in chunks:
        for choice in chunk["choices"]:
            content += choice["delta"].get("content") or ""
            for call in choice["delta"].get("tool_calls") or ():
                arguments += call["function"].get("arguments") or ""
    return content, arguments


def of_sse(text: str) -> Answer:
    return of_chunks(json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {"))


def difference(answer: Answer, content: str, arguments: str) -> str:
    """Return how an answer differs from the expected one; "" if it does not.

    White space around the content does not count, and arguments are compared as values.
    """
    if arguments and not answer[1]:
        return "no call"
    if answer[1] and not arguments:
        return "a call that is none"
    if answer[0].strip() != content.strip():
        return "other content"
    if not arguments:
        return ""
    try:
        return "" if json.loads(answer[1]) == json.loads(arguments) else "other arguments"
    except ValueError:
        return "arguments that are no JSON"
