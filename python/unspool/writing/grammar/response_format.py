"""Reads a request's `response_format`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.errors import ArgumentError

__all__ = ["read_response_format"]


def read_response_format(value: Any) -> dict[str, Any] | None:
    """Return the JSON Schema for the answer; None: free text.

    Args:
        value: As in chat completions or Responses: None, `{"type": "text"}`, `{"type": "json_object"}`, or
            `{"type": "json_schema", …}` with the schema in `json_schema.schema` or in `schema`; or a Pydantic
            model.

    Raises:
        ArgumentError: The value has another form.
    """
    if value is None:
        return None
    if hasattr(value, "model_json_schema"):
        return dict(value.model_json_schema())
    if not isinstance(value, Mapping):
        raise ArgumentError(
            f"response_format is of type {type(value).__name__}; pass a dict with a type, or a Pydantic model"
        )
    kind = value.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}
    if kind != "json_schema":
        raise ArgumentError(f"response_format has type {kind!r}; use 'text', 'json_object' or 'json_schema'")
    inner = value.get("json_schema", value)
    schema = inner.get("schema") if isinstance(inner, Mapping) else None
    if not isinstance(schema, Mapping):
        raise ArgumentError(
            "response_format has type 'json_schema' and no schema; "
            "write {'type': 'json_schema', 'json_schema': {'name': ..., 'schema': {...}}}"
        )
    return dict(schema)
