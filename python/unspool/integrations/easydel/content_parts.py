"""Joins the text parts of chat messages, for chat templates that accept only text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unspool.errors import ArgumentError

__all__ = ["join_content_parts", "join_parts_of_prompt"]

_TEXT_PARTS = ("text", "input_text")


def join_parts_of_prompt(prompt: Any) -> Any:
    """A prompt of `StreamGenerator.stream`, with the text parts of its messages joined."""
    if isinstance(prompt, Mapping):
        if "role" in prompt:
            return join_content_parts([prompt])
        return (
            {**prompt, "messages": join_content_parts(prompt["messages"])} if "messages" in prompt else prompt
        )
    if isinstance(prompt, (list, tuple)) and prompt and all(isinstance(item, Mapping) for item in prompt):
        return join_content_parts(prompt)
    return prompt


def join_content_parts(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with text as content: OpenAI's lists of parts are joined without a separator.

    Raises:
        ArgumentError: A part is not text.
    """
    return [
        {**message, "content": _join(message["content"])}
        if isinstance(message.get("content"), (list, tuple))
        else dict(message)
        for message in messages
    ]


def _join(parts: Sequence[Any]) -> str:
    texts = []
    for part in parts:
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        if kind not in _TEXT_PARTS or not isinstance(part.get("text"), str):
            raise ArgumentError(
                f"a content part is of type {kind!r}; oai_like=True takes parts of text, "
                '{"type": "text", "text": "..."}'
            )
        texts.append(part["text"])
    return "".join(texts)
