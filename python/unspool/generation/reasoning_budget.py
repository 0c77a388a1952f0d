"""A bound on an answer's reasoning: once its tokens are used up, the model can only write what ends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unspool._core import Format, FormatSource, Vocabulary
from unspool.errors import ArgumentError
from unspool.streams.parser import Parser
from unspool.writing.grammar.request import format_of

__all__ = ["ReasoningBudget", "closer_of"]


def closer_of(
    format: str | FormatSource | Format, reasoning: str | bool | None, vocabulary: Vocabulary
) -> str | None:
    """The text that ends reasoning in this format; None if nothing is reasoning.

    Raises:
        ArgumentError: The format is no file, so that its markers are not known.
    """
    if isinstance(format, Format):
        raise ArgumentError(
            f"max_reasoning_tokens needs the text that ends reasoning, and '{format.name}' is no format file; name a format"
        )
    closers = [part.close for part in format_of(format, reasoning).shape.reasoning]
    if not closers:
        return None
    tokens = set(vocabulary.added_tokens.values())
    # A family may have several spellings; the model knows those of its vocabulary.
    found = next((closer for closer in closers if closer.text in tokens), closers[0])
    return found.before + found.text + found.after


class ReasoningBudget:
    """A logits processor, for all answers of a request.

    Args:
        limit: The most tokens of an answer's reasoning, 0 or more.
        closer: The ids that end reasoning.
        streamers: Of each answer; they have read all ids so far.
    """

    def __init__(self, limit: int, closer: Sequence[int], streamers: Sequence[Parser]) -> None:
        self._closer, self._streamers = tuple(closer), streamers
        self._left = [limit] * len(streamers)
        self._forced: list[list[int]] = [
            [] for _ in streamers
        ]  # ids that are still to be written, the last one first

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ARG002
        """The scores, of shape (rows, vocabulary); where the budget is used up, only one id may follow."""
        for row in range(len(self._streamers)):
            id = self._next(row)
            # A grammar may ask for the rest of a character first.
            if id is not None and scores[row, id] > float("-inf"):
                self._forced[row].pop()
                scores = scores.clone()
                scores[row] = float("-inf")
                scores[row, id] = 0.0
        return scores

    def _next(self, row: int) -> int | None:
        """The id that this answer must have next, if any."""
        if not self._forced[row]:
            if self._streamers[row].region != "reasoning":
                return None
            self._left[row] -= 1
            if self._left[row] >= 0:
                return None
            self._forced[row] = list(reversed(self._closer))
        return self._forced[row][-1]
