"""The default name of an inference engine."""

from __future__ import annotations

import datetime
from typing import Any

from unspool.errors import ArgumentError

__all__ = ["default_inference_name", "read_inference_name"]


def read_inference_name(name: str | None, model: Any) -> str:
    """Return a valid name: the given one, or the default.

    Raises:
        TypeError: The name is not a str.
        ArgumentError: The name is empty.
    """
    if name is None:
        return default_inference_name(model)
    if not isinstance(name, str):
        raise TypeError(f"name is of type {type(name).__name__}; pass a str")
    if not name:
        raise ArgumentError("name is empty; pass some text, or None for the default")
    return name


def default_inference_name(model: Any) -> str:
    """`{model_type}-{size}B-{date}`: "llama-8.03B-2026-11-21", with the date of its creation.

    The size is in billions of parameters, 0.00 if the model does not show it.
    """
    config = getattr(model, "config", None)
    model_type = getattr(config, "model_type", None) or type(model).__name__.lower()
    return f"{model_type}-{_parameter_count(model) / 1e9:.2f}B-{datetime.date.today().isoformat()}"


def _parameter_count(model: Any) -> int:
    count = getattr(model, "num_parameters", None)  # of transformers; counts quantized weights too
    if callable(count):
        return int(count())
    parameters = getattr(model, "parameters", None)
    return sum(parameter.numel() for parameter in parameters()) if callable(parameters) else 0
