"""Counts the token ids of a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unspool.errors import ArgumentError
from unspool.generation.prompt import TEXT_PARTS, Prompt, read_prompt

if TYPE_CHECKING:
    from unspool.generation.delta_generator import DeltaGenerator

__all__ = ["count_prompt", "count_tokens", "join_content_parts"]


def count_tokens(
    generator: DeltaGenerator, prompt: Any, oai_like: bool, tools: Any, template_kwargs: Mapping[str, Any]
) -> int:
    """As of `StreamGenerator.count_tokens`."""
    read = read_prompt(prompt)
    if oai_like and read.messages is not None:
        read = Prompt(messages=join_content_parts(read.messages), inputs=read.inputs)
    return count_prompt(generator, generator._render(read, tools, dict(template_kwargs)))


def count_prompt(generator: DeltaGenerator, prompt: Prompt) -> int:
    """The length of a rendered prompt, as the usage of its answer has it."""
    embeds = prompt.inputs.get("inputs_embeds")
    if embeds is not None:
        return int(embeds.shape[1])
    return len(generator._encoder.ids(prompt))


def join_content_parts(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages whose content is text: OpenAI's lists of parts are joined, with nothing between.

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
        if kind not in TEXT_PARTS or not isinstance(part.get("text"), str):
            raise ArgumentError(
                f"a content part is of type {kind!r}; oai_like=True takes parts of text, "
                '{"type": "text", "text": "..."}'
            )
        texts.append(part["text"])
    return "".join(texts)
