"""Limits an answer's reasoning: when its tokens are used up, the model can only write the closing marker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unspool._core import Format, FormatSource, Vocabulary
from unspool.errors import ArgumentError
from unspool.streams.parser import Parser
from unspool.writing.grammar.request_grammar import format_of

__all__ = ["ReasoningBudget", "closer_of"]


def closer_of(
    format: str | FormatSource | Format, reasoning: str | bool | None, vocabulary: Vocabulary
) -> str | None:
    """Return the text that ends reasoning in this format; None if the format has no reasoning.

    Raises:
        ArgumentError: The format is compiled, so its markers are unknown; or only a call ends its reasoning.
    """
    if isinstance(format, Format):
        raise ArgumentError(
            f"max_reasoning_tokens needs the text that ends reasoning, and '{format.name}' is no format file; name a format"
        )
    file = format_of(format, reasoning)
    if not file.shape.reasoning:
        return None
    closers = [part.close for part in file.shape.reasoning if not part.close.is_blank]
    if not closers:
        raise ArgumentError(
            f"max_reasoning_tokens: only a call ends the reasoning of '{file.name}', so nothing can be written at the "
            "limit; leave it out"
        )
    tokens = set(vocabulary.added_tokens.values())
    # A family may have several spellings; prefer one that is a token of the model.
    chosen = next((closer for closer in closers if closer.text in tokens), closers[0])
    return chosen.before + chosen.text + chosen.after


class ReasoningBudget:
    """A logits processor that limits the reasoning of all answers of a request.

    Args:
        limit: Maximum number of tokens in an answer's reasoning, 0 or more.
        closer: The ids that end reasoning.
        streamers: The parser of each answer; each must have read all ids so far.
    """

    def __init__(self, limit: int, closer: Sequence[int], streamers: Sequence[Parser]) -> None:
        self._closer, self._streamers = tuple(closer), streamers
        self._left = [limit] * len(streamers)
        self._forced: list[list[int]] = [
            [] for _ in streamers
        ]  # ids that must still be written, in reverse order

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ARG002
        """Return the scores, of shape (rows, vocabulary); a row whose budget is used up allows only one id."""
        for row in range(len(self._streamers)):
            id = self._next(row)
            # A grammar may require the rest of a character first.
            if id is not None and scores[row, id] > float("-inf"):
                self._forced[row].pop()
                scores = scores.clone()
                scores[row] = float("-inf")
                scores[row, id] = 0.0
        return scores

    def _next(self, row: int) -> int | None:
        """Return the id that this answer must have next, if any."""
        if not self._forced[row]:
            if self._streamers[row].region != "reasoning":
                return None
            self._left[row] -= 1
            if self._left[row] >= 0:
                return None
            self._forced[row] = list(reversed(self._closer))
        return self._forced[row][-1]
