"""Renders chat messages to the text of a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["TEXT_PARTS", "RenderedPrompt", "render_messages"]

#: The type of a text among the parts of a message's content.
TEXT_PARTS = ("text", "input_text")


class RenderedPrompt(NamedTuple):
    """A prompt as text.

    If `is_template` is True, a template has written the special tokens at its beginning. If not, the tokenizer
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
) -> RenderedPrompt:
    """Render messages to one text that ends where the answer begins.

    Uses the template of the renderer (a processor or a tokenizer), else that of `fallback`. If neither has one,
    each message is a line "ROLE: text", and "ASSISTANT:" follows. An error that a template raises for the
    messages or tools is raised here.
    """
    refusal: Exception | None = None
    options: dict[str, Any] = dict(chat_template_kwargs or {})
    if tools is not None:
        options.setdefault("tools", tools)
    for owner in (renderer, fallback):
        if owner is None:
            continue
        try:
            text = owner.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **options)
        except (TypeError, ValueError, AttributeError) as error:  # no template, or none that accepts this
            if getattr(owner, "chat_template", None):
                refusal = error
            continue
        if isinstance(text, str):
            return RenderedPrompt(text, True)
    if refusal is not None:
        raise refusal
    lines = [f"{str(message.get('role', '')).upper()}: {_plain(message, renderer)}" for message in messages]
    return RenderedPrompt("\n".join([*lines, "ASSISTANT:"]), False)


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
