"""Prompts for an engine, made from text, messages or ids."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unspool._core import Vocabulary
from unspool.errors import ArgumentError, EngineError
from unspool.generation.prompts.chat_template import render_messages
from unspool.generation.prompts.prompt import Prompt, text_of_ids
from unspool.serve.engines.engine import Engine
from unspool.writing.grammar.tools import without_strict

__all__ = ["EnginePrompt", "PromptReader"]

# Number of ids at the end of a prompt that are decoded to text; the turn that opens the answer is among them.
_LAST_IDS = 8192


@dataclass(frozen=True)
class EnginePrompt:
    """A prompt as text, as ids, or as both.

    Attributes:
        text: The prompt as text; None: the client sent ids.
        ids: The prompt as ids; None: there is no tokenizer.
        adds_special_tokens: Whether the special tokens that begin a prompt must still be added before the text.
    """

    text: str | None
    ids: Sequence[int] | None
    adds_special_tokens: bool = False


class PromptReader:
    """Renders messages with the tokenizer's template, and encodes texts.

    Args:
        tokenizer: As in `EngineModel`.
        engine: Encodes texts if the tokenizer cannot.
        vocabulary: The tokenizer's vocabulary; None: it has none.
    """

    def __init__(self, tokenizer: Any, engine: Engine, vocabulary: Vocabulary | None) -> None:
        self._tokenizer, self._engine, self._vocabulary = tokenizer, engine, vocabulary

    def read(
        self, prompt: Any, tools: Any, template_kwargs: Mapping[str, Any] | None, prefill: bool | str
    ) -> EnginePrompt:
        """Read the prompt of a request.

        Raises:
            ArgumentError: It is empty, has images or audio, or consists of ids while the engine accepts only text.
        """
        if isinstance(prompt, str):
            text, adds_special_tokens = prompt, True
        elif prompt and all(isinstance(item, int) for item in prompt):
            if not self._engine.gives_ids:
                raise ArgumentError("the engine reads text alone; send the prompt as text")
            return EnginePrompt(None, prompt)
        elif prompt and all(isinstance(item, Mapping) for item in prompt):
            if Prompt(messages=prompt).has_media:
                raise ArgumentError("prompts for an engine are text; leave images and audio out")
            text, is_template = render_messages(
                self._tokenizer,
                prompt,
                tools=without_strict(tools),
                chat_template_kwargs=template_kwargs,
                prefill=prefill,
            )
            adds_special_tokens = not is_template
        else:
            raise ArgumentError("the prompt is empty, or neither text nor messages nor token ids")
        ids = self.encode(text, adds_special_tokens) if self._engine.gives_ids else None
        if not text or (ids is not None and not ids):
            raise ArgumentError("the prompt is empty; send at least one token")
        return EnginePrompt(text, ids, adds_special_tokens)

    def encode(self, text: str, adds_special_tokens: bool = False) -> array[int] | None:
        """Return the ids of a text, 4 bytes each; None: neither the tokenizer nor the engine can encode it."""
        encode = getattr(self._tokenizer, "encode", None)
        encoded = None if encode is None else encode(text, add_special_tokens=adds_special_tokens)
        if encoded is None:
            encoded = self._engine.tokenize(text, adds_special_tokens)
        if encoded is None:
            return None
        try:
            return array("I", getattr(encoded, "ids", encoded))  # `tokenizers` returns an Encoding
        except (TypeError, OverflowError) as error:
            raise EngineError(f"the engine tokenizes a text into what is no id: {error}") from None

    def end_of(self, prompt: EnginePrompt) -> str | None:
        """Return the end of a prompt as text; None: unknown."""
        if prompt.text is not None or self._vocabulary is None or prompt.ids is None:
            return prompt.text
        return text_of_ids(prompt.ids[-_LAST_IDS:], self._vocabulary)
