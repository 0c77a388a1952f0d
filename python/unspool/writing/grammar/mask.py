"""Keeps answers to a grammar while the model writes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from unspool._core import Vocabulary
from unspool.errors import ArgumentError, StreamError
from unspool.writing.grammar.matcher import GrammarMatcher
from unspool.writing.grammar.result import Grammar

__all__ = ["GrammarMask"]


class GrammarMask:
    """A logits processor and a stopping criterion of transformers in one; one for a request.

    As a processor it rules out what the grammar does not allow next. As a criterion it ends an answer where nothing
    may follow, so that no token is spent on saying so.

    Args:
        matchers: One for each answer.
        is_done: Whether an answer has ended, by its index: the ids that follow are padding.
    """

    def __init__(self, matchers: Sequence[GrammarMatcher], is_done: Callable[[int], bool]) -> None:
        self._matchers = matchers
        self._is_done = is_done

    @classmethod
    def of(
        cls,
        grammar: str | Grammar,
        vocabulary: Vocabulary,
        eos: Collection[int],
        count: int,
        is_done: Callable[[int], bool],
    ) -> GrammarMask:
        """The mask for `count` answers of one request.

        Raises:
            ArgumentError: The grammar is not in Lark, or cannot be read.
        """
        if isinstance(grammar, Grammar):
            if grammar.syntax != "lark":
                raise ArgumentError(f"the grammar's syntax is '{grammar.syntax}'; make it with syntax='lark'")
            grammar = grammar.text
        first = GrammarMatcher(vocabulary, grammar, eos)
        return cls([first, *(first.copy() for _ in range(count - 1))], is_done)

    def process(self, input_ids: Any, scores: Any) -> Any:  # noqa: ARG002
        """The scores, of shape (rows, vocabulary), with -inf for what is not allowed."""
        import numpy as np
        import torch

        count = scores.shape[-1]
        rows = [self._allowed(row, count) for row in range(scores.shape[0])]
        allowed = torch.from_numpy(np.stack(rows)).to(scores.device)
        return scores.masked_fill(~allowed, float("-inf"))

    def ends(self, input_ids: Any, scores: Any, **_: Any) -> Any:  # noqa: ARG002
        """Take the ids that were just written, of shape (rows, n); whether each answer ends with its last one."""
        import torch

        ended = [self._take(row, id) for row, id in enumerate(input_ids[:, -1].tolist())]
        return torch.tensor(ended, device=input_ids.device)

    def _allowed(self, row: int, count: int) -> Any:
        import numpy as np

        if self._is_done(row) or self._matchers[row].is_ended:
            return np.ones(count, dtype=np.bool_)
        allowed = self._matchers[row].allowed(count)
        if not allowed.any():
            raise StreamError(
                "the grammar may only end here, and no id that ends an answer is known; pass eos_token_id"
            )
        return allowed

    def _take(self, row: int, id: int) -> bool:
        matcher = self._matchers[row]
        if not self._is_done(row) and not matcher.is_ended:
            matcher.take(id)
        return matcher.is_ended
