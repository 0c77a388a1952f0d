"""Prompts into token ids and model inputs, in the worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unspool.generation.prefill.static_inputs import build_multimodal_inputs
from unspool.generation.prompt import Prompt
from unspool.prompt_pieces.pieces import iter_prompt_ids

__all__ = ["IDS_PER_PIECE", "PromptEncoder"]

#: Piece size if all ids are needed: large enough for speed, small enough to notice a cancel soon.
IDS_PER_PIECE = 4096

# A batch of pieces has enough text for a chunk. The pieces are small, so that the first forward starts early.
_CHARS_PER_TOKEN = 4
_PIECES_PER_BATCH = 8


class PromptEncoder:
    """Encodes prompts for one model; keeps no state of them."""

    def __init__(self, model: Any, tokenizer: Any, processor: Any) -> None:
        self._model, self._tokenizer, self._processor = model, tokenizer, processor

    def pieces(self, prompt: Prompt, chunk_tokens: int) -> Iterator[list[int]]:
        """The prompt's ids, piece by piece. They equal those of one tokenization, and are never in one list."""
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
        """All of the prompt's ids; for a processor's prompt, with the placeholders of its media."""
        if prompt.messages is not None:
            ids: list[int] = self.whole(prompt)["input_ids"][0].tolist()
            return ids
        return [id for piece in self.pieces(prompt, chunk_tokens=IDS_PER_PIECE) for id in piece]

    def whole(self, prompt: Prompt) -> dict[str, Any]:
        """All model inputs at once, on the model's device."""
        inputs = dict(prompt.inputs)
        if prompt.messages is not None:
            inputs.update(
                build_multimodal_inputs(
                    self._model, self._processor, self._tokenizer, prompt.messages, **prompt.template_options
                )
            )
        elif prompt.text is not None:
            inputs["input_ids"] = self._tensor(self.ids(prompt))
        return self.on_device(inputs)

    def on_device(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs, moved to the model's device."""
        device = getattr(self._model, "device", None)
        if device is None:
            return dict(inputs)
        return {
            name: value.to(device) if hasattr(value, "to") and hasattr(value, "shape") else value
            for name, value in inputs.items()
        }

    def _tensor(self, ids: list[int]) -> Any:
        import torch

        return torch.tensor([ids], dtype=torch.long)
