"""The report of a prefill: what it did and why; part of a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unspool.generation.prefill.strategy import StrategyId

__all__ = ["APPLIED", "NOT_LONGER", "PrefillReport"]

APPLIED = "prompt length exceeds the chunk"
NOT_LONGER = "prompt length does not exceed the chunk"

# Which parts are streamed, and how masks are made.
_EXECUTION = {
    "execution_boundary": "streamed-prompt-preparation",
    "attention_mask_mode": "lazy-prefix-synthesis",
}


@dataclass(frozen=True, slots=True)
class PrefillReport:
    """The lane of a prompt, and whether the prompt ran in chunks.

    Attributes:
        strategy_id: The lane; None if there is none.
        runtime_eligible: Whether the model can run a prompt in chunks, as far as its config shows.
        applied: Whether at least one chunk ran on its own (seq2seq: the source is longer than a chunk).
        activation_reason: Why chunks were applied, or why not.
    """

    strategy_id: StrategyId | None
    runtime_eligible: bool
    applied: bool
    activation_reason: str

    def execution(self) -> dict[str, str]:
        """Which parts are streamed, and how masks are made: fixed values; empty without a lane."""
        return {name: text if self.strategy_id else "" for name, text in _EXECUTION.items()}

    def metadata(self) -> dict[str, str]:
        """Six strings for a result's metadata; without a lane, those about it are empty."""
        values = {
            "strategy_id": self.strategy_id or "",
            "runtime_eligible": "true" if self.runtime_eligible else "false",
            "applied": "true" if self.applied else "false",
            "activation_reason": self.activation_reason,
            **self.execution(),
        }
        return {f"chunked_prefill_{name}": value for name, value in values.items()}
