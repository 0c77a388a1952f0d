"""The response format of a request, in each protocol's field."""

from __future__ import annotations

from typing import Any

from unspool.errors import ArgumentError
from unspool.grammar.response_format import read_response_format
from unspool.serve.api_errors import ApiError
from unspool.serve.fields import Fields

__all__ = ["read_format", "read_response_schema"]


def read_response_schema(fields: Fields) -> dict[str, Any] | None:
    """The JSON Schema of `response_format`, as chat completions have it; None: the answer is text."""
    value = fields.mapping("response_format")
    if value is None:
        return None
    inner = Fields(value, "response_format")
    inner.require("type", inner.text("type"))
    _read_schema(inner.inner("json_schema"))
    inner.end()
    return _schema(value, "response_format")


def read_format(outer: Fields, name: str) -> dict[str, Any] | None:
    """The JSON Schema of a format as Responses and Messages have it: the schema stands beside the type."""
    path, value = outer.path_of(name), outer.mapping(name)
    if value is None:
        return None
    fields = Fields(value, path)
    fields.require("type", fields.text("type"))
    _read_schema(fields)
    return _schema(value, path)


def _read_schema(fields: Fields) -> None:
    """The schema with its name. `strict` changes nothing: every schema is enforced."""
    fields.text("name")
    fields.text("description")
    fields.mapping("schema")
    fields.flag("strict")
    fields.end()


def _schema(value: dict[str, Any], path: str) -> dict[str, Any] | None:
    try:
        return read_response_format(value)
    except ArgumentError as error:
        message = str(error).replace("response_format", f"'{path}'", 1)
        raise ApiError(400, message, code="invalid_argument", param=path) from None
