"""A model whose `generate` reports its scores before any logits processor changes them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from unspool.errors import ArgumentError

if TYPE_CHECKING:
    from unspool.generation.settings import GenerationSettings

__all__ = ["check_recordable", "recorded"]

# Decoding methods that score several ids before they write some of them.
_MANY_IDS_A_STEP = ("assistant_model", "prompt_lookup_num_tokens", "assistant_early_exit")

# A method of transformers' GenerationMixin. A processor that is passed to `generate` runs after the penalties,
# and `output_logits` keeps the scores of every step: 600 KB a token for 150,000 ids.
_PROCESSORS = "_get_logits_processor"


def check_recordable(model: Any, settings: GenerationSettings) -> None:
    """Raise ArgumentError if `generate` of this model cannot report log-probabilities."""
    if not hasattr(type(model), _PROCESSORS):
        raise ArgumentError(
            f"logprobs: generate() of {type(model).__name__} is not that of transformers, which reports its scores; "
            "use backend='native', or leave logprobs out"
        )
    for name in _MANY_IDS_A_STEP:
        if settings.option(name) is not None:
            raise ArgumentError(f"logprobs are not available with {name}, which writes several ids a step")


def recorded(model: Any, see: Callable[[Any], None]) -> Any:
    """A twin of the model, with the same state, whose `generate` first passes each step's scores to `see`.

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
    """A subclass with one more logits processor. Its callback is in a slot of the instance."""
    make: Any = getattr(kind, _PROCESSORS)

    def processors(self: Any, *args: Any, **options: Any) -> Any:
        made = make(self, *args, **options)
        made.insert(0, functools.partial(_show, self._unspool_see))
        return made

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
