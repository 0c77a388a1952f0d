"""A model from "module:function"."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from unspool.errors import ArgumentError

__all__ = ["call_factory"]


def call_factory(path: str, folder: str | None = None) -> Any:
    """Import a function and call it for a model.

    Args:
        path: "module:function"; the function takes no arguments and returns a `ServedModel`.
        folder: Where the module is looked for first.

    Raises:
        ArgumentError: The path has another form, there is no such function, or what it returns cannot stream.
        BaseException: What the module or the function raises.
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
    if not callable(getattr(model, "stream", None)):
        raise ArgumentError(f"{path} returns a {type(model).__name__}; return a StreamGenerator")
    return model
