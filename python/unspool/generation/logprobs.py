"""Log-probabilities of the ids that a model wrote: by its own scores, before anything shapes them."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any

from unspool._core import Vocabulary
from unspool.errors import ArgumentError

__all__ = ["MAX_TOP_LOGPROBS", "LogprobRecorder", "TokenLogprob", "check_top_count"]

#: The most rivals of a token that are listed, as with OpenAI.
MAX_TOP_LOGPROBS = 20

# transformers puts a token one step late if the device is slow to report it (mps).
_MAX_PENDING_STEPS = 2


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One id and how likely it was.

    Attributes:
        token_id: The id.
        token: Its bytes in the middle of a text, which need not be whole characters; of a special token its
            name; empty if the tokenizer does not know the id.
        logprob: The natural logarithm of its probability, 0 at most; -inf for what the model rules out.
        top: The likeliest ids of its place, the likeliest first; the id itself is there only if it is one.
    """

    token_id: int
    token: bytes
    logprob: float
    top: tuple[TokenLogprob, ...] = ()


class LogprobRecorder:
    """Between the scores of a step and the ids that were chosen by them; in the worker.

    Keeps the log-probabilities of a step until its ids come, then only those that are asked for.

    Args:
        top_count: How many of the likeliest ids are listed beside the chosen one.
        vocabulary: For the ids' bytes.
    """

    def __init__(self, top_count: int, vocabulary: Vocabulary) -> None:
        self._top_count = top_count
        self._vocabulary = vocabulary
        self._pending: deque[tuple[Any, list[list[float]], list[list[int]]]] = deque()

    def see(self, scores: Any) -> None:
        """The model's scores of the next ids, of shape (rows, vocabulary); they are left as they are."""
        import torch

        if len(self._pending) == _MAX_PENDING_STEPS:
            raise _not_one_id_a_step()
        logprobs = torch.log_softmax(scores.float(), dim=-1)
        top = logprobs.topk(min(self._top_count, logprobs.shape[-1]), dim=-1)
        self._pending.append((logprobs, top.values.tolist(), top.indices.tolist()))

    def take(self, ids: list[int]) -> list[TokenLogprob]:
        """Those of the oldest step, for the id that each row was given."""
        import torch

        if not self._pending or self._pending[0][0].shape[0] != len(ids):
            raise _not_one_id_a_step()
        logprobs, top_values, top_ids = self._pending.popleft()
        chosen = torch.tensor(ids, device=logprobs.device)[:, None]
        values = logprobs.gather(1, chosen).squeeze(1).tolist()
        return [
            self._entry(id, values[row], tuple(map(self._entry, top_ids[row], top_values[row])))
            for row, id in enumerate(ids)
        ]

    def _entry(self, id: int, value: float, top: tuple[TokenLogprob, ...] = ()) -> TokenLogprob:
        # A model that overflows gives NaN, and goes on.
        logprob = -math.inf if math.isnan(value) else value
        return TokenLogprob(id, self._vocabulary.token_bytes(id), logprob, top)


def check_top_count(name: str, value: Any) -> None:
    """Raise for what is no number of rivals: 0 to 20, or None."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}; pass an integer")
    if not 0 <= value <= MAX_TOP_LOGPROBS:
        raise ArgumentError(
            f"{name} is {value}; pass 0 to {MAX_TOP_LOGPROBS}, how many of the likeliest tokens to list besides"
        )


def _not_one_id_a_step() -> ArgumentError:
    return ArgumentError(
        "log-probabilities need a model whose generate() scores and writes one id of each answer a step, which "
        "this one does not; use backend='native', or leave logprobs out"
    )
