"""Renders chat messages to the text of a prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from unspool.errors import ArgumentError
from unspool.generation.bridging.spelled import free_letter
from unspool.generation.prompts.history import TEXT_PARTS, prepare_messages

__all__ = ["RenderedPrompt", "render_messages"]


class RenderedPrompt(NamedTuple):
    """A prompt as text.

    If `is_template` is True, the template has written the special tokens at the beginning. Otherwise the tokenizer
    must add them.
    """

    text: str
    is_template: bool


def render_messages(
    renderer: Any,
    messages: Sequence[Mapping[str, Any]],
    *,
    fallback: Any = None,
    tools: Any = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    prefill: bool | str = False,
) -> RenderedPrompt:
    """Render messages to a text that ends where the model continues.

    Args:
        prefill: True: the model continues the last message, the assistant's. A text: the beginning of the answer.

    Uses the template of the renderer (a processor or a tokenizer), or else that of `fallback`, and prepares the
    messages for it. If neither has one, each message becomes a line "ROLE: text", and "ASSISTANT:" follows. An
    error that a template raises for the messages or tools passes through.

    Raises:
        ArgumentError: There is no template, but there are tools or calls, which such lines cannot show. Or the last
            message cannot be continued.
    """
    begun, mark = (prefill, "") if isinstance(prefill, str) else ("", "")
    if prefill is True:
        messages, mark = _marked(messages)
    refusal: Exception | None = None
    options: dict[str, Any] = dict(chat_template_kwargs or {})
    if tools is not None:
        options.setdefault("tools", tools)
    for owner in (renderer, fallback):
        if owner is None:
            continue
        try:
            shown = prepare_messages(messages, owner, chat_template=options.get("chat_template"))
            text = owner.apply_chat_template(shown, tokenize=False, add_generation_prompt=not mark, **options)
        except (TypeError, ValueError, AttributeError) as error:  # no template, or a wrong argument
            if getattr(owner, "chat_template", None):
                refusal = error
            continue
        if isinstance(text, str):
            return RenderedPrompt(_cut(text, mark) + begun, True)
    if refusal is not None:
        raise refusal
    if tools or any(message.get("tool_calls") for message in messages):
        raise ArgumentError(
            "the tokenizer has no chat template, so the model would see neither tools nor calls; set "
            "tokenizer.chat_template, or pass the prompt as text that has them"
        )
    lines = [f"{str(message.get('role', '')).upper()}: {_plain(message, renderer)}" for message in messages]
    lines += [] if mark else [f"ASSISTANT:{begun}"]
    return RenderedPrompt(_cut("\n".join(lines), mark), False)


def _marked(messages: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], str]:
    """Return the messages with a mark after the last content, or else the last reasoning; and the mark."""
    (last,) = prepare_messages(messages[-1:])
    name = "content" if last["content"] else "reasoning_content"
    text = last.get(name)
    if last.get("role") != "assistant" or last.get("tool_calls") or not (text and isinstance(text, str)):
        raise ArgumentError(
            "prefill=True continues the last message, which must be the assistant's, with text and without calls; to "
            "begin a call, pass its text as prefill="
        )
    mark = free_letter(json.dumps(messages, ensure_ascii=False, default=str))
    return [*messages[:-1], {**last, name: text + mark}], mark


def _cut(text: str, mark: str) -> str:
    """Return the text up to the mark."""
    if mark not in text:
        raise ArgumentError("the chat template leaves out the message that prefill=True continues")
    return text.partition(mark)[0] if mark else text


def _plain(message: Mapping[str, Any], renderer: Any) -> str:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(
        str(part.get("text", ""))
        if part.get("type") in TEXT_PARTS
        else str(getattr(renderer, f"{part.get('type')}_token", None) or "")
        for part in content
    )
