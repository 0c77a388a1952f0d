"""The response format of a request, in each protocol's field."""

from __future__ import annotations

from typing import Any

from unspool.errors import ArgumentError
from unspool.serve.api_errors import ApiError
from unspool.serve.wire import Wire
from unspool.writing.grammar.response_format import read_response_format

__all__ = ["FlatFormat", "NestedFormat", "schema_of"]


class NamedSchema(Wire, kw_only=True):
    """A JSON Schema with a name. `strict` changes nothing: every schema is enforced."""

    name: str | None = None
    description: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None


class FlatFormat(NamedSchema, kw_only=True):
    """A format as Responses and Messages have it: the schema stands beside the type."""

    type: str


class NestedFormat(Wire, kw_only=True):
    """A format as chat completions have it."""

    type: str
    json_schema: NamedSchema | None = None


def schema_of(format: FlatFormat | NestedFormat | None, path: str) -> dict[str, Any] | None:
    """The JSON Schema of an answer; None: it is text.

    Raises:
        ApiError: 400, the type is unknown, or there is no schema.
    """
    if format is None:
        return None
    named = format.json_schema if isinstance(format, NestedFormat) else format
    try:
        return read_response_format({"type": format.type, "schema": named and named.schema})
    except ArgumentError as error:
        message = str(error).replace("response_format", f"'{path}'", 1)
        raise ApiError(400, message, code="invalid_argument", param=path) from None
