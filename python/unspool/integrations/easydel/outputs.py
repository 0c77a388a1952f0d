"""`PromptOutput`, the result of a prompt, and `SampleState`, its progress."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from unspool.core.records import Record, require_at_least
from unspool.errors import ArgumentError
from unspool.generation import DeltaStream, StreamResult

__all__ = ["PromptOutput", "SampleState"]


@dataclass(frozen=True, slots=True)
class PromptOutput(Record):
    """The result of one prompt; an unknown value is None.

    Attributes:
        text: The answer; "" if the model wrote none.
        generated_tokens: The number of generated token ids, of all sequences together.
        tokens_per_second: Generated token ids per second of decoding, prefill excluded.
        error: The error message; None if there was no error.
        finish_reason: "stop", "length", "tool_calls", "error" or "cancelled".

    Raises:
        TypeError: A value has the wrong type.
        ArgumentError: A count or rate is negative or not finite.
    """

    text: str | None = None
    generated_tokens: int | None = None
    tokens_per_second: float | None = None
    error: str | None = None
    finish_reason: str | None = None

    def _check(self) -> None:
        require_at_least("generated_tokens", self.generated_tokens, 0)
        require_at_least("tokens_per_second", self.tokens_per_second, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleState(Record):
    """The progress of a generation.

    Attributes:
        current_length: The number of token ids in the first sequence, the prompt included.
        sequences: The generated ids, one tuple for each sequence, without the prompt.
        running_token: The first sequence's last token id; None before the first token.
        is_sequence_finished: Whether all sequences have ended.
        tokens_per_second: The number of tokens after the first one of each sequence, divided by `time_spent_s`; -inf
            if there are none yet. In `to_dict` and JSON, -inf is null.
        generated_tokens: The number of generated token ids, of all rows together; it only grows.
        padded_length: The prompt's length in token ids.
        time_spent_s: Seconds of decoding after the first token, prefill excluded.
        time_to_first_token_s: Seconds from the start to the first token, prefill included; None before the first
            token.

    Raises:
        TypeError: A value has the wrong type.
        ArgumentError: A count, rate or time is negative.
    """

    current_length: int = 0
    sequences: Sequence[Sequence[int]] = ()
    running_token: int | Sequence[int] | None = None
    is_sequence_finished: bool | Sequence[bool] = False
    tokens_per_second: float = -math.inf
    generated_tokens: int = 0
    padded_length: int = 0
    time_spent_s: float = 0.0
    time_to_first_token_s: float | None = None

    def _check(self) -> None:
        require_at_least("current_length", self.current_length, 0)
        if -math.inf < self.tokens_per_second < 0:
            raise ArgumentError(
                f"tokens_per_second is {self.tokens_per_second}; pass 0 or more, or -inf before the first token"
            )
        for key in ("generated_tokens", "padded_length", "time_spent_s", "time_to_first_token_s"):
            require_at_least(key, getattr(self, key), 0)

    @classmethod
    def of(cls, source: DeltaStream | StreamResult) -> SampleState:
        """Return the state of a result, or of a stream, which may still be running."""
        result = source.result if isinstance(source, DeltaStream) else source
        sequences = tuple(choice.token_ids for choice in result.choices)
        spent_s, first_ms = result.metrics.decode_time_s, result.metrics.time_to_first_token_ms
        after_first = sum(len(ids) - 1 for ids in sequences if ids)
        prompt_tokens = result.usage.prompt_tokens
        return cls(
            current_length=prompt_tokens + len(sequences[0]),
            sequences=sequences,
            running_token=sequences[0][-1] if sequences[0] else None,
            is_sequence_finished=all(choice.message.finish_reason for choice in result.choices),
            tokens_per_second=after_first / spent_s if spent_s > 0 else -math.inf,
            generated_tokens=result.usage.completion_tokens,
            padded_length=prompt_tokens,
            time_spent_s=spent_s,
            time_to_first_token_s=None if first_ms is None else first_ms / 1000,
        )
