"""Converts JSON to a type of the caller: a pydantic model, msgspec struct, dataclass or TypedDict."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from unspool.core.schema.function_schema import import_msgspec, is_plain, type_name, uses_pydantic
from unspool.errors import ArgumentError, ToolCallError

__all__ = ["convert", "read_as"]


def read_as(text: str, kind: Any, name: str) -> Any:
    """Convert a call's arguments from JSON text. See `ToolCall.as_`.

    Args:
        text: The JSON text.
        kind: The type.
        name: A description of the text, for errors.

    Raises:
        ToolCallError: The text does not fit the type.
        ArgumentError: The type cannot be read from JSON.
    """
    if hasattr(kind, "model_validate_json"):
        return _read(lambda: kind.model_validate_json(text), kind, name)
    if uses_pydantic(kind):
        from pydantic import TypeAdapter

        return _read(lambda: TypeAdapter(kind).validate_json(text), kind, name)
    msgspec = import_msgspec(f"reading arguments as {type_name(kind)}")
    return _read(lambda: msgspec.json.decode(text, type=kind), kind, name)


def convert(value: Any, hint: Any, name: str) -> Any:
    """Convert a member of the arguments to the type of a function's parameter; errors as in `read_as`."""
    return value if is_plain(hint) else read_as(json.dumps(value), hint, name)


def _read(read: Callable[[], Any], kind: Any, name: str) -> Any:
    try:
        return read()
    except TypeError as error:
        raise ArgumentError(f"{type_name(kind)} cannot be read from JSON: {error!s:.300}") from error
    except (RecursionError, Exception) as error:  # the packages' errors have no common base
        raise ToolCallError(f"{name} cannot be read as {type_name(kind)}: {error!s:.1000}") from error
