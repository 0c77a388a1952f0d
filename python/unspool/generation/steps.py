"""The steps of unspool's own decoding loops: choose ids from scores until every answer has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unspool.errors import ArgumentError, ChannelCancelledError
from unspool.generation.backends.transformers_backend import ask_criteria
from unspool.generation.logits import IdPicker
from unspool.generation.prefill.prepared import PreparedPrompt
from unspool.generation.rows import Rows
from unspool.generation.settings import GenerationSettings

__all__ = ["Steps"]


class Steps:
    """Chooses the next id of each row and puts it into the answer.

    Args:
        rows: The answers, which advance together.
        device: The device of the scores.
        is_cancelled: Returns whether the consumer has left.

    Attributes:
        count: The number of steps so far.
        limit: Maximum number of steps.

    Raises:
        ArgumentError: The prompt leaves no room for an answer.
    """

    def __init__(
        self,
        prepared: PreparedPrompt,
        rows: Rows,
        settings: GenerationSettings,
        is_cancelled: Callable[[], bool],
        device: Any,
    ) -> None:
        most, length = settings.option("max_length"), prepared.token_count
        self.limit: int = settings.limit if settings.limit is not None else most - length
        if self.limit < 1:
            raise ArgumentError(f"max_length is {most} and the prompt has {length} tokens")
        self.count = 0
        self._rows, self._is_cancelled, self._criteria = rows, is_cancelled, settings.stopping_criteria
        self._ids = prepared.prompt_ids.to(device).expand(len(rows.token_ids), -1)
        self._picker = IdPicker(settings, self._ids.shape[1], device)
        self._keeps_ids = self._picker.needs_ids or bool(self._criteria)

    def take(self, scores: Any) -> Any:
        """Choose and put the next ids; returns them, of shape (rows,).

        Args:
            scores: The last position's logits, of shape (rows, vocabulary).

        Raises:
            ChannelCancelledError: The consumer has left.
        """
        import torch

        if self._is_cancelled():
            raise ChannelCancelledError("the consumer has left")
        self.count += 1
        if self._rows.recorder is not None:
            self._rows.recorder.see(scores)
        next_ids = self._picker.pick(self._ids, scores)
        self._rows.put_step(next_ids.tolist())
        if self._keeps_ids:
            self._ids = torch.cat([self._ids, next_ids[:, None]], dim=1)
        ask_criteria(self._criteria, self._rows, self.count, self._ids, scores)
        return next_ids

    @property
    def is_over(self) -> bool:
        """Whether no answer needs another id."""
        return self.count == self.limit or all(map(self._rows.is_done, range(len(self._rows.token_ids))))
