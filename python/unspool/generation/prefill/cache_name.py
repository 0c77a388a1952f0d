"""The name of a cache in calls and outputs: `cache` since transformers 5.24, `past_key_values` before."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

from unspool.errors import ArgumentError

__all__ = ["CACHE_NAMES", "cache_name", "default_cache_name", "named_for", "output_cache", "pop_cache"]

#: Both names; unspool uses the first.
CACHE_NAMES = ("cache", "past_key_values")


def default_cache_name() -> str:
    """Return the name in the imported transformers; the old name if transformers is not imported."""
    outputs = sys.modules.get("transformers.modeling_outputs")
    fields = getattr(getattr(outputs, "CausalLMOutputWithPast", None), "__dataclass_fields__", ())
    return "cache" if "cache" in fields else "past_key_values"


def cache_name(function: Callable[..., Any]) -> str | None:
    """Return the name of the cache's argument in a forward or a `generate`: the one in its signature, else the default.

    None if there is no such argument.
    """
    default = default_cache_name()
    try:
        parameters = inspect.signature(function).parameters
    except Exception:  # a user's __signature__ may raise anything
        return default
    for name in (default, *CACHE_NAMES):
        if name in parameters:
            # In XLM and Flaubert, `cache` is a dict of another kind.
            return None if "dict" in str(parameters[name].annotation).lower() else name
    takes_any = any(item.kind is inspect.Parameter.VAR_KEYWORD for item in parameters.values())
    return default if takes_any else None


def named_for(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments, with `cache` under the name that the function has for it."""
    named = dict(arguments)
    if "cache" in named:
        named[cache_name(function) or default_cache_name()] = named.pop("cache")
    return named


def output_cache(output: Any) -> Any:
    """Return the cache in a forward's output (an object or a mapping), or None."""
    for name in CACHE_NAMES:  # in this order, since transformers 5.24 warns about reads of the old name
        if hasattr(output, name):
            return getattr(output, name)
        if isinstance(output, Mapping) and name in output:
            return output[name]
    return None


def pop_cache(arguments: dict[str, Any]) -> Any:
    """Remove the cache from a caller's arguments and return it, under either name; None if there is none.

    Raises:
        ArgumentError: Both names have one.
    """
    given = [cache for name in CACHE_NAMES if (cache := arguments.pop(name, None)) is not None]
    if len(given) > 1:
        raise ArgumentError("cache and past_key_values are two names of one argument; pass one of them")
    return given[0] if given else None
