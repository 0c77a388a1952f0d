"""Encodes prompts as token ids and model inputs, in the worker."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from unspool._core import ToolSchemas
from unspool.errors import ArgumentError, ChannelCancelledError
from unspool.generation.prompts.chat_template import render_messages
from unspool.generation.prompts.pieces.pieces import iter_prompt_ids
from unspool.generation.prompts.processor_inputs import build_multimodal_inputs
from unspool.generation.prompts.prompt import Prompt, check_ids, read_prompt
from unspool.writing.grammar.tools import without_strict

__all__ = ["PromptEncoder"]

# Piece size if all ids are needed: large enough to be fast, small enough to notice a cancellation soon.
_IDS_PER_PIECE = 4096

# Assumed size of a token, so that a batch of pieces has enough text for a chunk. The pieces are small, so that the
# first forward starts early.
_CHARS_PER_TOKEN = 4
_PIECES_PER_BATCH = 8


class PromptEncoder:
    """Encodes prompts for one model; keeps no state between prompts.

    Args:
        renderer: Renders messages to text; None: the processor or the tokenizer does.
    """

    def __init__(self, model: Any, tokenizer: Any, processor: Any, renderer: Any = None) -> None:
        self._model, self._tokenizer, self._processor = model, tokenizer, processor
        self._renderer, self._fallback = renderer, None if renderer is not None else tokenizer
        if renderer is None:
            self._renderer = tokenizer if processor is None else processor

    def read(
        self,
        prompt: Any,
        tools: Any,
        template_kwargs: Any,
        inputs: Mapping[str, Any] | None = None,
        prefill: bool | str = False,
    ) -> Prompt:
        """Check a prompt. Messages without media are rendered to text; those with media are kept for the processor.

        Args:
            prompt: As in `read_prompt`, or a function that returns one.
            tools, template_kwargs, prefill: Passed to the chat template.

        Raises:
            ArgumentError: As in `read_prompt` and `render_messages`, or `prefill` is set without messages.
        """
        read = read_prompt(prompt() if callable(prompt) else prompt, inputs)
        check_ids(self._model, read)
        if not isinstance(prefill, (bool, str)):
            raise TypeError(f"prefill is of type {type(prefill).__name__}; pass a bool or a text")
        if read.messages is None:
            if prefill:
                raise ArgumentError(
                    "prefill goes with messages; write the answer's beginning into the prompt"
                )
            return read
        shown = None if isinstance(tools, ToolSchemas) else without_strict(tools)
        options: dict[str, Any] = {"tools": shown, "chat_template_kwargs": dict(template_kwargs or {})}
        options["prefill"] = prefill
        if self._processor is not None and read.has_media:
            return dataclasses.replace(read, template_options=options)
        text, is_template = render_messages(self._renderer, read.messages, fallback=self._fallback, **options)
        return Prompt(text=text, inputs=read.inputs, adds_special_tokens=not is_template)

    def pieces(self, prompt: Prompt, chunk_tokens: int) -> Iterator[list[int]]:
        """Yield the prompt's ids, piece by piece; together they equal those of one tokenization."""
        ids = prompt.inputs.get("input_ids")
        if ids is not None:
            return (ids[0, at : at + chunk_tokens].tolist() for at in range(0, ids.shape[1], chunk_tokens))
        assert prompt.text is not None
        chars = max(32, min(1024, chunk_tokens * _CHARS_PER_TOKEN // _PIECES_PER_BATCH))
        return iter_prompt_ids(
            self._tokenizer,
            prompt.text,
            add_special_tokens=prompt.adds_special_tokens,
            batch_size=_PIECES_PER_BATCH,
            piece_chars=chars,
        )

    def ids(self, prompt: Prompt) -> list[int]:
        """Return all of the prompt's ids; those of a processor's prompt include the placeholders of its media."""
        ids: list[int] = self.whole(prompt)["input_ids"][0].tolist()
        return ids

    def whole(self, prompt: Prompt, is_cancelled: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """Return all model inputs at once, on the model's device.

        Raises:
            ChannelCancelledError: The consumer has left.
        """
        import torch

        inputs = dict(prompt.inputs)
        if prompt.messages is not None:
            inputs |= build_multimodal_inputs(
                self._model, self._processor, self._tokenizer, prompt.messages, **prompt.template_options
            )
        elif prompt.text is not None:
            parts = [torch.zeros((1, 0), dtype=torch.long)]
            for piece in self.pieces(prompt, _IDS_PER_PIECE):
                if is_cancelled():
                    raise ChannelCancelledError("the consumer has left while the prompt was read")
                parts.append(torch.tensor([piece], dtype=torch.long))
            inputs["input_ids"] = torch.cat(parts, dim=1)
        return self._on_device(inputs)

    def _on_device(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        device = getattr(self._model, "device", None)
        if device is None:
            return dict(inputs)
        return {
            name: value.to(device) if hasattr(value, "to") and hasattr(value, "shape") else value
            for name, value in inputs.items()
        }
