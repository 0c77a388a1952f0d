"""Calls a model's forward with the keyword arguments that it accepts."""

from __future__ import annotations

import inspect
from typing import Any

from unspool.generation.prefill.cache_name import cache_name

__all__ = ["LOGITS_TO_KEEP", "ONE_STEP", "ForwardCaller"]

#: The argument that limits the positions with logits, to save memory, in transformers 5 and 4.46. It is passed only to
#: a forward that names it, because a forward with **kwargs may pass it on to one that does not know it.
LOGITS_TO_KEEP = ("logits_to_keep", "num_logits_to_keep")

#: Arguments of every forward: the cache is kept, and only the last position needs logits.
ONE_STEP = {"use_cache": True, "return_dict": True} | dict.fromkeys(LOGITS_TO_KEEP, 1)


class ForwardCaller:
    """Calls a model's forward, whose signature is read once.

    A forward that cannot be inspected, or that has `**kwargs`, gets every argument. `logits_to_keep` and
    `num_logits_to_keep` are passed only to a forward that names them. The cache is `cache` here; the forward gets it
    under its own name.

    Attributes:
        missing_reason: Why there is no forward; None if there is one.
        names: The arguments that forward names; None if it cannot be inspected.
        takes_any: Whether forward has `**kwargs`, or cannot be inspected.
        cache_name: Forward's name for the cache; None if it has no such argument.
    """

    def __init__(self, model: Any) -> None:
        forward: Any = getattr(model, "forward", None)
        self.missing_reason: str | None = None
        self.names: frozenset[str] | None = None
        self.takes_any = True
        self.cache_name: str | None = None
        if not callable(forward):
            self.missing_reason = f"model.forward is {'missing' if forward is None else 'not callable'}"
            return
        # Call the object itself, so that a module's hooks run.
        self._call: Any = model if callable(model) else forward
        self.cache_name = cache_name(forward)
        try:
            parameters = inspect.signature(forward).parameters.values()
        except Exception:  # a user's __signature__ may raise anything
            return
        by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        self.names = frozenset(parameter.name for parameter in parameters if parameter.kind in by_name)
        self.takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)

    def takes(self, name: str) -> bool:
        """Whether an argument with this name is passed."""
        if name == "cache":
            return self.cache_name is not None
        if name in LOGITS_TO_KEEP:
            return self.names is not None and name in self.names
        return self.takes_any or self.names is None or name in self.names

    def __call__(self, **arguments: Any) -> Any:
        """Run one forward; arguments that it does not accept are dropped."""
        taken = {name: value for name, value in arguments.items() if self.takes(name)}
        if "cache" in taken and self.cache_name is not None:
            taken[self.cache_name] = taken.pop("cache")
        return self._call(**taken)
