"""State that a model has for one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["ConditioningHook"]


class ConditioningHook:
    """Conditions a model for one request: Flamingo's media, an adapter, a cache of your own.

    Both methods run in the worker, under inference mode. Nothing else runs on the model between them.
    """

    def setup(self, inputs: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Prepare the model; called before it runs.

        Args:
            inputs: The inputs of the model: `input_ids` of shape (1, n), `inputs_embeds`, ….

        Returns:
            Other inputs to use, or None to use these.
        """
        raise NotImplementedError(f"{type(self).__name__}.setup(inputs) is missing")

    def cleanup(self) -> None:
        """Undo `setup`. Called exactly once, also if `setup` or the model fails or the consumer leaves."""
        raise NotImplementedError(f"{type(self).__name__}.cleanup() is missing")
