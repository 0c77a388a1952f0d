"""Gets a model from "module:function"."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from unspool.errors import ArgumentError
from unspool.serve.models.stream_adapter import can_serve

__all__ = ["call_factory"]


def call_factory(path: str, folder: str | None = None) -> Any:
    """Import a function and return the model that it returns.

    Args:
        path: "module:function"; the function takes no arguments and returns a `ServedModel`.
        folder: The folder that is searched for the module first.

    Raises:
        ArgumentError: The path has another form, the function does not exist, or its result cannot stream.
        BaseException: The module or the function raises it.
    """
    module, _, name = path.partition(":")
    if not (module and name.isidentifier()):
        raise ArgumentError(f"factory is '{path}'; write it as module:function")
    if folder is not None:
        sys.path.insert(0, folder)
    try:
        function = getattr(importlib.import_module(module), name, None)
        if function is None:
            raise ArgumentError(f"factory is '{path}', and {module} has no {name}")
        model = function()
    finally:
        if folder is not None:
            sys.path.remove(folder)
    if not can_serve(model):
        raise ArgumentError(f"{path} returns a {type(model).__name__}; return a StreamGenerator")
    return model
