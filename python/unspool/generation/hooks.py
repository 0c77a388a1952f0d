"""State that a model needs for one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["ConditioningHook"]


class ConditioningHook:
    """Conditions a model for one request: Flamingo's media, an adapter, a cache of one's own.

    Both run in the worker, under inference mode; streams on one model that has a hook are serialised.
    """

    def setup(self, inputs: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Before the model runs.

        Args:
            inputs: What the model will be given: `input_ids` of shape (1, n), `inputs_embeds`, ….

        Returns:
            Other inputs to use; None: these.
        """
        raise NotImplementedError(f"{type(self).__name__}.setup(inputs) is missing")

    def cleanup(self) -> None:
        """After it: exactly once, also if `setup` or the model fails or the consumer leaves."""
        raise NotImplementedError(f"{type(self).__name__}.cleanup() is missing")
