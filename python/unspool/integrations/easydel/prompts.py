"""Changes prompts before an engine reads them: joins their text parts, and cuts them to a maximum length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from unspool.errors import ArgumentError

__all__ = ["TooLong", "cut_prompt", "join_content_parts"]

TooLong = Literal["error", "truncate-left", "truncate-right"]

_TEXT_PARTS = ("text", "input_text")


def join_content_parts(prompt: Any) -> Any:
    """Return a prompt for `StreamGenerator.stream` in which every message has text as its content.

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


def cut_prompt(
    prompt: Any, tokenize: Callable[[Any], list[int]], limit: Callable[[], int], too_long: TooLong
) -> list[int]:
    """See `vInference.fit_prompt`."""
    if too_long not in ("error", "truncate-left", "truncate-right"):
        raise ArgumentError(f"too_long is {too_long!r}; use 'error', 'truncate-left' or 'truncate-right'")
    if _has_media(prompt):
        raise ArgumentError(
            "a prompt with images, sounds or embeddings cannot be cut; pass text or token ids"
        )
    most, ids = limit(), tokenize(prompt)
    if len(ids) <= most:
        return ids
    if too_long == "error":
        raise ArgumentError(
            f"the prompt has {len(ids)} token ids, and the longest prefill length is {most}; shorten it, pass "
            "too_long='truncate-left' or 'truncate-right', or precompile a longer one"
        )
    return ids[-most:] if too_long == "truncate-left" else ids[:most]


def _has_media(prompt: Any) -> bool:
    """Whether a prompt is more than only text or only token ids."""
    if isinstance(prompt, Mapping):
        if prompt.get("inputs_embeds") is not None:
            return True
        prompt = [prompt] if "role" in prompt else prompt.get("messages")
    if not isinstance(prompt, (list, tuple)):
        return False
    contents = [message.get("content") for message in prompt if isinstance(message, Mapping)]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return any(part.get("type") not in _TEXT_PARTS for part in parts)
