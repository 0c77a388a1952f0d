"""Log-probabilities of the ids that a model wrote, from its scores before logits processors."""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unspool._core import Vocabulary
from unspool.errors import ArgumentError

__all__ = [
    "MAX_TOP_LOGPROBS", "LogprobRecorder", "TokenLogprob", "check_one_id_a_step", "check_recordable", "recorded",
]  # fmt: skip

#: Maximum number of alternatives for a token, as in OpenAI's API.
MAX_TOP_LOGPROBS = 20

# Maximum number of steps without their ids: on some devices (mps), transformers passes a token on one step late.
_MAX_PENDING_STEPS = 2

# Decoding methods that score several ids before they write some of them.
_MANY_IDS_A_STEP = ("assistant_model", "prompt_lookup_num_tokens", "assistant_early_exit")

# A method of transformers' GenerationMixin. A processor that is passed to `generate` runs after the penalties,
# and `output_logits` keeps the scores of every step: 600 KB per token for 150,000 ids.
_PROCESSORS = "_get_logits_processor"


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One id and its log-probability.

    Attributes:
        token_id: The id.
        token: Its bytes in the middle of a text, perhaps part of a character; for a special token its name;
            empty if the tokenizer does not know the id.
        logprob: The natural logarithm of its probability, at most 0; -inf for an id that the model rules out.
        top: The most likely ids at this position, in descending order. The id itself is included only if it is one
            of them.
    """

    token_id: int
    token: bytes
    logprob: float
    top: tuple[TokenLogprob, ...] = ()

    def to_wire(self) -> tuple[bytes, float, list[tuple[bytes, float]]]:
        """Return the entry in the form that `WireWriter.add_logprobs` accepts."""
        return self.token, self.logprob, [(rival.token, rival.logprob) for rival in self.top]


class LogprobRecorder:
    """Matches the scores of a step with the ids that are chosen from them; used in the worker.

    Keeps all log-probabilities of a step until its ids arrive, and then only those that are reported.

    Args:
        top_count: Number of most likely ids to list.
        vocabulary: Has the ids' bytes.
    """

    def __init__(self, top_count: int, vocabulary: Vocabulary) -> None:
        self._top_count = top_count
        self._vocabulary = vocabulary
        self._pending: deque[tuple[Any, list[list[float]], list[list[int]]]] = deque()

    def fork(self) -> LogprobRecorder:
        """Return a recorder with the same settings for other scores."""
        return LogprobRecorder(self._top_count, self._vocabulary)

    def see(self, scores: Any) -> None:
        """Record the model's scores of the next ids, of shape (rows, vocabulary), unchanged."""
        import torch

        if len(self._pending) == _MAX_PENDING_STEPS:
            raise _not_one_id_a_step()
        logprobs = torch.log_softmax(scores.float(), dim=-1)
        top = logprobs.topk(min(self._top_count, logprobs.shape[-1]), dim=-1)
        self._pending.append((logprobs, top.values.tolist(), top.indices.tolist()))

    def take(self, ids: list[int]) -> list[TokenLogprob]:
        """Return the entries of the oldest step, for the id of each row."""
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
        # The value is NaN if the model overflows.
        logprob = -math.inf if math.isnan(value) else value
        return TokenLogprob(id, self._vocabulary.token_bytes(id), logprob, top)


def _not_one_id_a_step() -> ArgumentError:
    return ArgumentError(
        "log-probabilities need a model whose generate() scores and writes one id of each answer a step; "
        "this one does not: use backend='native', or leave logprobs out"
    )


def check_recordable(model: Any, option: Callable[[str], Any]) -> None:
    """Raise ArgumentError if `generate` of this model, with these options, cannot report log-probabilities."""
    if not hasattr(type(model), _PROCESSORS):
        raise ArgumentError(
            f"logprobs: generate() of {type(model).__name__} is not that of transformers, which reports its scores; "
            "use backend='native', or leave logprobs out"
        )
    check_one_id_a_step("logprobs", option)


def check_one_id_a_step(wanted: str, option: Callable[[str], Any]) -> None:
    """Raise ArgumentError for a decoding method that `wanted` cannot follow."""
    for name in _MANY_IDS_A_STEP:
        if option(name) is not None:
            raise ArgumentError(f"{name} writes several ids a step; leave it out with {wanted}")


def recorded(model: Any, see: Callable[[Any], None]) -> Any:
    """Return a twin of the model, with the same state, whose `generate` passes each step's scores to `see` first.

    The model itself does not change: other threads may run it.

    Args:
        see: Called with scores of shape (rows, vocabulary), of type float32.
    """
    kind: Any = type(model)
    twin = object.__new__(_twin_type(kind))
    object.__setattr__(twin, "__dict__", model.__dict__)  # shared, not copied
    object.__setattr__(twin, "_unspool_see", see)
    return twin


@functools.lru_cache(maxsize=16)
def _twin_type(kind: Any) -> Any:
    """Create a subclass with one more logits processor, whose callback is in a slot of the instance."""
    make: Any = getattr(kind, _PROCESSORS)

    def processors(self: Any, *args: Any, **options: Any) -> Any:
        processor_list = make(self, *args, **options)
        processor_list.insert(0, functools.partial(_show, self._unspool_see))
        return processor_list

    members = {
        _PROCESSORS: processors,
        "__slots__": ("_unspool_see",),
        "__del__": lambda _: None,  # the twin must not finalize the model
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
    }
    return type(kind)(kind.__name__, (kind,), members)


def _show(see: Callable[[Any], None], input_ids: Any, scores: Any) -> Any:  # noqa: ARG001
    see(scores)
    return scores
