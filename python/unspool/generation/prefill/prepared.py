"""The result of a prefill: the cache, and the tokens that are left."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unspool.generation.prefill.forward import ONE_STEP

if TYPE_CHECKING:
    import torch

    from unspool.generation.prefill.report import PrefillReport

__all__ = ["PreparedPrefill"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPrefill:
    """A prompt, with a part that may be in the cache.

    Attributes:
        input_ids: All of the prompt, shape (1, length), int64, on the model's device.
        attention_mask: Of the same shape; ones, unless the processor's output was padded.
        cache: The cache of the first `prefilled` tokens; None if none ran.
        prefilled: The number of tokens in the cache; at least one token is left.
        token_inputs: One value per token of the prompt, each of shape (1, length).
        static_inputs: Further inputs of the next forward, such as pixels; empty if an earlier forward used them.
        scope: The report: the lane, and whether it was applied and why.
        peak_buffered_count: The most ids that were buffered at one time; 0 if a processor made them.
    """

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    cache: Any
    prefilled: int
    scope: PrefillReport
    token_inputs: dict[str, torch.Tensor] = field(default_factory=dict)
    static_inputs: dict[str, Any] = field(default_factory=dict)
    peak_buffered_count: int = 0

    @property
    def prompt_token_count(self) -> int:
        """The tokens of the whole prompt."""
        return int(self.input_ids.shape[1])

    @property
    def decode_prefix_tokens(self) -> int:
        """The tokens of the prompt that the first forward of the decoding runs."""
        return self.prompt_token_count - self.prefilled

    def generate_arguments(self) -> dict[str, Any]:
        """Arguments for `model.generate`, which needs all ids together with a cache; it may have another name for it."""
        arguments = {
            "input_ids": self.input_ids,
            "attention_mask": self.attention_mask,
            **self.token_inputs,
            **self.static_inputs,
        }
        if self.cache is not None:
            arguments["cache"] = self.cache
        return arguments

    def forward_arguments(self) -> dict[str, Any]:
        """Keyword arguments for the next forward of our own loop: the tokens that are not in the cache.

        For a `ForwardCaller`, which drops what the model does not accept.
        """
        import torch

        return {
            "input_ids": self.input_ids[:, self.prefilled :],
            "attention_mask": self.attention_mask,
            "cache": self.cache,
            "cache_position": torch.arange(
                self.prefilled, self.prompt_token_count, device=self.input_ids.device
            ),
            **ONE_STEP,
            **{name: value[:, self.prefilled :] for name, value in self.token_inputs.items()},
            **self.static_inputs,
        }
