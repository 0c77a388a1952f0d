"""A prompt that is ready for the decoding; a part of it may be in the cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unspool.generation.prefill.forward import ONE_STEP
from unspool.generation.prefill.report import PrefillReport

if TYPE_CHECKING:
    import torch

__all__ = ["PreparedPrompt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPrompt:
    """The result of a prefill: one row, which the arguments repeat for each answer.

    Attributes:
        token_count: The number of tokens in the whole prompt, or in an encoder's source.
        prefilled: How many of them are in the cache; the first forward of the decoding does not run these.
        scope: The report: the lane, and whether it was applied and why.
        attention_mask: Shape (1, token_count); ones, unless the processor's output was padded.
        input_ids: The ids before the answer, of shape (1, n); None if only embeddings are known, or for a decoder
            after an encoder.
        cache: The cache of the first `prefilled` tokens, with all rows; None if none ran.
        token_inputs: One value per token of the prompt, each of shape (1, token_count).
        static_inputs: Further inputs of the next forward, such as pixels; empty if an earlier forward used them.
        rows: The number of answers.
        runs_natively: Whether unspool's own loop can continue; False if only `generate` can.
        peak_buffered_count: Maximum number of ids that were buffered at a time; 0 if a processor made them.
    """

    token_count: int
    scope: PrefillReport
    attention_mask: torch.Tensor
    prefilled: int = 0
    input_ids: torch.Tensor | None = None
    cache: Any = None
    token_inputs: Mapping[str, torch.Tensor] = field(default_factory=dict)
    static_inputs: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 1
    runs_natively: bool = True
    peak_buffered_count: int = 0

    @property
    def decode_prefix_tokens(self) -> int:
        """The number of the prompt's tokens that the first forward of the decoding runs."""
        return self.token_count - self.prefilled

    @property
    def prompt_ids(self) -> torch.Tensor:
        """`input_ids`; without them, an empty tensor of shape (1, 0)."""
        import torch

        return torch.zeros((1, 0), dtype=torch.long) if self.input_ids is None else self.input_ids

    def refused(self, reason: str) -> PreparedPrompt:
        """Return the same prompt for a model that does not support chunks."""
        scope = replace(self.scope, runtime_eligible=False, applied=False, activation_reason=reason)
        return replace(self, scope=scope, runs_natively=False)

    def generate_arguments(self) -> dict[str, Any]:
        """Return the arguments for `model.generate`, which needs all ids even with a cache; see `named_for`."""
        arguments = {"attention_mask": self.attention_mask, **self.token_inputs, **self.static_inputs}
        if self.input_ids is not None:
            arguments["input_ids"] = self.input_ids
        return self._with_rows(arguments) | ({} if self.cache is None else {"cache": self.cache})

    def forward_arguments(self) -> dict[str, Any]:
        """Return the arguments for the next forward of unspool's own loop: the tokens that are not in the cache."""
        import torch

        arguments = {
            "attention_mask": self.attention_mask,
            **{name: value[:, self.prefilled :] for name, value in self.token_inputs.items()},
            **self.static_inputs,
        }
        if "inputs_embeds" not in arguments:
            arguments["input_ids"] = self.prompt_ids[:, self.prefilled :]
        positions = torch.arange(self.prefilled, self.token_count, device=self.attention_mask.device)
        return self._with_rows(arguments) | {"cache": self.cache, "cache_position": positions, **ONE_STEP}

    def _with_rows(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if self.rows == 1:
            return dict(arguments)
        return {
            name: value.repeat_interleave(self.rows, dim=0) if getattr(value, "ndim", 0) >= 2 else value
            for name, value in arguments.items()
        }
