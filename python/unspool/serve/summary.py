"""The line that a server logs when it is ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool._core import __version__
from unspool.errors import UnspoolError
from unspool.serve.served_model import format_name

__all__ = ["summary"]

_MOST_SHOWN = 8


def summary(address: str, models: Mapping[str, Any]) -> str:
    """The address, and what is served there."""
    names = list(models)
    if type(models) is dict and len(names) <= _MOST_SHOWN:
        served = "; ".join(f"model {name}{_facts(model)}" for name, model in models.items())
    else:
        more = ", …" if len(names) > _MOST_SHOWN else ""
        served = f"{len(names)} models: {', '.join(names[:_MOST_SHOWN])}{more}"
    return f"ready at {address}: {served}; unspool {__version__}"


def _facts(model: Any) -> str:
    try:
        format = format_name(model, None, raw=False)
    except UnspoolError:
        format = "unknown"
    inner = getattr(model, "model", None)
    facts = {
        "format": format,
        "device": getattr(inner, "device", None),
        "dtype": str(getattr(inner, "dtype", None) or "").removeprefix("torch."),
        "context length": getattr(model, "context_length", None),
    }
    return "".join(f", {name} {value}" for name, value in facts.items() if value)
