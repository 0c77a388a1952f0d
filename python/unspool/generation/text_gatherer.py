"""Content deltas as text, in pieces of a number of tokens."""

from __future__ import annotations

from unspool._core import Delta
from unspool.core.records import require_at_least

__all__ = ["TextGatherer"]


class TextGatherer:
    """The first answer's content, without empty strings.

    Args:
        tokens_per_text: Piece k is the text that the tokens from `k * tokens_per_text` on made certain. A group
            of tokens without text has no piece. None: every delta is a piece.

    Raises:
        ArgumentError: `tokens_per_text` is below 1.
    """

    def __init__(self, tokens_per_text: int | None = None) -> None:
        require_at_least("tokens_per_text", tokens_per_text, 1)
        self._size = tokens_per_text
        self._gathered = ""
        self._group = 0

    def put(self, delta: Delta) -> list[str]:
        """Put the next delta of any kind; returns the pieces that it completes."""
        if delta.choice:
            return []
        # A malformed call that was never announced counts as content.
        is_content = delta.kind == "content" or (delta.kind == "malformed" and delta.index is None)
        text = delta.text if is_content else ""
        if self._size is None:
            return [text] if text else []
        end = delta.token_span[1]
        group, pieces = max((end - 1) // self._size, self._group), []
        if group > self._group:
            pieces = self.end()
        self._group = group
        self._gathered += text
        return [*pieces, *self.end()] if text and end % self._size == 0 else pieces

    def end(self) -> list[str]:
        """Return the last piece, if there is one; call this after the last delta."""
        gathered, self._gathered = self._gathered, ""
        return [gathered] if gathered else []
