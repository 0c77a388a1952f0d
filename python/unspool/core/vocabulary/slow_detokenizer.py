"""Detokenizing with a tokenizer's own `decode`, for decoders that cannot be compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unspool.errors import StreamError

__all__ = ["SlowDetokenizer"]

# A tokenizer is assumed to change no text further back than this many tokens.
_WINDOW = 8
_REPLACEMENT = "\ufffd"


class SlowDetokenizer:
    """Has the same `put` and `end` as `Detokenizer`, but is about 100 times slower.

    It decodes new tokens together with the 8 tokens before them, and emits text that the tokenizer no longer
    changes. The output can be wrong if the decoder looks further back. Text that ends in U+FFFD is held back until
    the next token.
    """

    def __init__(self, tokenizer: Any, skip_special_tokens: bool = True) -> None:
        if not callable(getattr(tokenizer, "decode", None)):
            raise TypeError(f"{type(tokenizer).__name__} has no decode(); pass a tokenizer")
        self._tokenizer = tokenizer
        self._skip = skip_special_tokens
        self._ids: list[int] = []
        self._done = 0  # ids before this one have been emitted
        self._ended = False

    def put(self, ids: int | Sequence[int]) -> str:
        """Feed one or several ids and return the text that became certain.

        Raises:
            StreamError: The stream has ended.
        """
        if self._ended:
            raise StreamError("this stream has ended; create a new SlowDetokenizer")
        text = ""
        for id in [ids] if isinstance(ids, int) else ids:
            self._ids.append(id)
            text += self._advance(is_last=False)
        return text

    def end(self) -> str:
        """End the stream and return the text held back.

        Raises:
            StreamError: The stream has ended.
        """
        if self._ended:
            raise StreamError("this stream has ended; create a new SlowDetokenizer")
        self._ended = True
        return self._advance(is_last=True)

    def _decode(self, ids: list[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=self._skip))

    def _advance(self, *, is_last: bool) -> str:
        before = self._decode(self._ids[: self._done]) if self._done else ""
        now = self._decode(self._ids)
        if not is_last and (now.endswith(_REPLACEMENT) or not now.startswith(before)):
            return ""
        text = now[len(before) :] if now.startswith(before) else ""
        self._done = len(self._ids)
        if self._done > 2 * _WINDOW:
            self._ids = self._ids[-_WINDOW:]
            self._done = len(self._ids)
        return text
