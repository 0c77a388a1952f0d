"""Joins the text parts of chat messages, for chat templates that accept only text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unspool.errors import ArgumentError

__all__ = ["join_content_parts"]

_TEXT_PARTS = ("text", "input_text")


def join_content_parts(prompt: Any) -> Any:
    """A prompt of `StreamGenerator.stream` whose messages have text as content.

    OpenAI's lists of parts are joined without a separator.

    Raises:
        ArgumentError: A part is not text.
    """
    if isinstance(prompt, Mapping):
        if "messages" in prompt:
            return {**prompt, "messages": join_content_parts(prompt["messages"])}
        content = prompt.get("content")
        return {**prompt, "content": _join(content)} if isinstance(content, (list, tuple)) else prompt
    is_chat = isinstance(prompt, (list, tuple)) and all(isinstance(item, Mapping) for item in prompt)
    return [join_content_parts(message) for message in prompt] if is_chat else prompt


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
