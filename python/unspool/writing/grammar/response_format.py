"""Reads a request's `response_format`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.errors import ArgumentError
from unspool.writing.grammar.response import Response

__all__ = ["read_response_format"]


def read_response_format(value: Any, choice: Any = None, regex: Any = None) -> Response | None:
    """Return the constraint on the answer; None: free text.

    Args:
        value: As in chat completions or Responses: None, `{"type": "text"}`, `{"type": "json_object"}`, or
            `{"type": "json_schema", …}` with the schema in `json_schema.schema` or in `schema`; or a Pydantic
            model. In addition to OpenAI's forms: `{"type": "choice", "choice": […]}`, `{"type": "regex", "regex": …}`,
            and `{"type": "grammar", "grammar": …}`, with an optional "syntax" (otherwise it is guessed).
        choice, regex: See `Response`; alternatives to `value`.

    Raises:
        ArgumentError: The value has another form, or more than one argument is given.
    """
    response = _read(value)
    if response is None or (choice is None and regex is None):
        return response or Response.of(choice=choice, regex=regex)
    raise ArgumentError("response_format is given together with choice or regex; pass one of them")


def _read(value: Any) -> Response | None:
    if value is None:
        return None
    if hasattr(value, "model_json_schema"):
        return Response(dict(value.model_json_schema()))
    if not isinstance(value, Mapping):
        raise ArgumentError(
            f"response_format is of type {type(value).__name__}; pass a dict with a type, or a Pydantic model"
        )
    kind = value.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return Response({"type": "object"})
    if kind in ("choice", "regex", "grammar"):
        if value.get(kind) is None:
            raise ArgumentError(f"response_format has type '{kind}' and no '{kind}'")
        return Response.of(**{kind: value[kind]}, syntax=value.get("syntax"))
    if kind != "json_schema":
        raise ArgumentError(
            f"response_format has type {kind!r}; use 'text', 'json_object', 'json_schema', 'choice', 'regex' or 'grammar'"
        )
    inner = value.get("json_schema", value)
    schema = inner.get("schema") if isinstance(inner, Mapping) else None
    if not isinstance(schema, Mapping):
        raise ArgumentError(
            "response_format has type 'json_schema' and no schema; "
            "write {'type': 'json_schema', 'json_schema': {'name': ..., 'schema': {...}}}"
        )
    return Response(dict(schema))
