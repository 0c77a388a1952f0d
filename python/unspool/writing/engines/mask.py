"""Constrains answers to a grammar while the model generates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from unspool.errors import StreamError
from unspool.writing.engines.matcher import GrammarMatcher

__all__ = ["GrammarMask"]


class GrammarMask:
    """A logits processor and a stopping criterion of transformers in one object, for one request.

    As a processor it masks the ids that the grammar does not allow next. As a criterion it ends an answer when the
    grammar allows nothing more, so that no end token is needed. A step may have several ids (drafts): the processor is
    then called for the scores after each draft, and the criterion for the ids that were accepted.

    Args:
        matchers: One matcher for each answer.
        is_done: Returns whether an answer has ended, by its index; its further ids are padding.
        cut: Called with an answer's index, and with the number of its ids at which the grammar ends, or None if it does
            not. It is called before the ids are chosen, and not all of them may be.
    """

    def __init__(
        self,
        matchers: Sequence[GrammarMatcher],
        is_done: Callable[[int], bool],
        cut: Callable[[int, int | None], None],
    ) -> None:
        self._rows = [_Row(matcher) for matcher in matchers]
        self._is_done, self._cut = is_done, cut
        self._begin: int | None = None  # the index in the ids at which the answer begins
        self._count = 0  # the number of accepted ids of the answer

    def process(self, input_ids: Any, scores: Any) -> Any:
        """Return the scores, of shape (rows, vocabulary), with -inf for the ids that are not allowed."""
        import numpy as np
        import torch

        if self._begin is None:
            self._begin = input_ids.shape[1]
        count = scores.shape[-1]
        bits = np.full((len(self._rows), (count + 31) // 32), -1, dtype=np.int32)
        for index, drafts in enumerate(self._new(input_ids)):
            matcher = None if self._is_done(index) else self._rows[index].after(drafts)
            if matcher is not None and matcher.is_ended:
                self._cut(index, self._count + len(drafts))
            elif matcher is not None:
                matcher.fill(bits, index)
                if not bits[index].any():
                    raise StreamError(
                        "the grammar may only end here, and no id that ends an answer is known; pass eos_token_id"
                    )
        allowed = np.unpackbits(bits.view(np.uint8), axis=1, count=count, bitorder="little").view(np.bool_)
        return scores.masked_fill(~torch.from_numpy(allowed).to(scores.device), float("-inf"))

    def ends(self, input_ids: Any, scores: Any, **_: Any) -> Any:  # noqa: ARG002
        """Accept the ids since the last call; return whether each answer has ended, as a tensor of shape (rows,)."""
        import torch

        new = self._new(input_ids)
        ended = [self._take(index, ids) for index, ids in enumerate(new)]
        self._count += len(new[0])
        return torch.tensor(ended, device=input_ids.device)

    def forced(self) -> list[int]:
        """The ids of the text that must follow, as drafts, if there is only one answer; else empty."""
        return self._rows[0].matcher.forced() if len(self._rows) == 1 else []

    def _new(self, input_ids: Any) -> list[list[int]]:
        """The ids of each answer that are not accepted yet."""
        new: list[list[int]] = input_ids[:, (self._begin or 0) + self._count :].tolist()
        return new

    def _take(self, index: int, ids: list[int]) -> bool:
        matcher = self._rows[index].matcher
        if self._is_done(index):
            return matcher.is_ended
        self._cut(index, None)
        for at, id in enumerate(ids):
            if matcher.is_ended:
                self._cut(index, self._count + at)
                break
            matcher.take(id)
        return matcher.is_ended


class _Row:
    """One answer's matchers: after the accepted ids, and after drafts."""

    def __init__(self, matcher: GrammarMatcher) -> None:
        self.matcher = matcher
        self._ahead, self._drafts = matcher, [-1]

    def after(self, drafts: list[int]) -> GrammarMatcher | None:
        """Return the matcher after these drafts; None if the grammar does not allow them."""
        if not drafts:
            self._drafts = [-1]  # no drafts: the matcher that is ahead is out of date
            return self.matcher
        if drafts[: len(self._drafts)] != self._drafts:
            self._ahead, self._drafts = self.matcher.fork(), []
        new = drafts[len(self._drafts) :]
        self._drafts = self._drafts + new[: self._ahead.advance(new)]
        return self._ahead if len(self._drafts) == len(drafts) else None
