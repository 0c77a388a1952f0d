"""Constraints of an answer's content, in each protocol's fields and in those of vLLM and llama.cpp."""

from __future__ import annotations

from typing import Any

import msgspec

from unspool.errors import ArgumentError
from unspool.serve.http.api_errors import ApiError
from unspool.serve.wires.wire import Exact, Wire
from unspool.writing.grammar.response import Response
from unspool.writing.grammar.response_format import read_response_format

__all__ = ["ConstraintFields", "FlatFormat", "NestedFormat"]


class NamedSchema(Exact, kw_only=True):
    """A JSON Schema with a name. `strict` changes nothing: every schema is enforced."""

    name: str | None = None
    description: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None


class TextFormat(Exact, kw_only=True):
    """A format, possibly not JSON, such as {"type": "regex", "regex": "[0-9]+"}."""

    type: str
    choice: list[str] | None = None
    regex: str | None = None
    grammar: str | None = None
    syntax: str | None = None


class FlatFormat(TextFormat, kw_only=True):
    """A format in Responses and Messages, with the schema beside the type."""

    name: str | None = None
    description: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None


class NestedFormat(TextFormat, kw_only=True):
    """A format in chat completions."""

    json_schema: NamedSchema | None = None


class StructuredOutputs(Exact, kw_only=True):
    """vLLM's field; exactly one of these must be set."""

    json: dict[str, Any] | str | None = None
    json_object: bool | None = None
    choice: list[str] | None = None
    regex: str | None = None
    grammar: str | None = None


class ConstraintFields(Wire, kw_only=True):
    """vLLM's `structured_outputs` and its older fields, and llama.cpp's `grammar` and `json_schema`."""

    structured_outputs: StructuredOutputs | None = None
    guided_json: dict[str, Any] | str | None = None
    guided_choice: list[str] | None = None
    guided_regex: str | None = None
    guided_grammar: str | None = None
    json_schema: dict[str, Any] | None = None
    grammar: str | None = None

    def response(self, format: FlatFormat | NestedFormat | None, path: str) -> Response | None:
        """Return the constraint of the answer; None: unconstrained.

        Args:
            format: The value of the protocol's own field.
            path: The place of that field in the request.

        Raises:
            ApiError: 400, the constraint is invalid, or several fields set one.
        """
        by_field = {path: _own(format, path)}
        if (inside := self.structured_outputs) is not None:
            schema = {"type": "object"} if inside.json_object and inside.json is None else inside.json
            by_field["structured_outputs"] = _read(
                "structured_outputs", schema, inside.choice, inside.regex, inside.grammar
            )
        by_field["guided_json"] = _read("guided_json", self.guided_json)
        by_field["guided_choice"] = _read("guided_choice", choice=self.guided_choice)
        by_field["guided_regex"] = _read("guided_regex", regex=self.guided_regex)
        by_field["guided_grammar"] = _read("guided_grammar", grammar=self.guided_grammar)
        by_field["json_schema"] = _read("json_schema", self.json_schema)
        by_field["grammar"] = _read("grammar", grammar=self.grammar)
        said = {name: constraint for name, constraint in by_field.items() if constraint is not None}
        if len(said) > 1:
            message = f"{' and '.join(map(repr, said))} are given; an answer is kept to one of them"
            raise ApiError(400, message, code="invalid_argument", param=[*said][1])
        return next(iter(said.values()), None)


def _read(
    path: str, schema: Any = None, choice: Any = None, regex: Any = None, grammar: Any = None
) -> Response | None:
    try:
        return Response.of(
            msgspec.json.decode(schema) if isinstance(schema, str) else schema, choice, regex, grammar
        )
    except (ArgumentError, msgspec.DecodeError) as error:
        raise ApiError(400, f"'{path}': {error}", code="invalid_argument", param=path) from None


def _own(format: FlatFormat | NestedFormat | None, path: str) -> Response | None:
    """Return the constraint in the protocol's own field; None: text.

    Raises:
        ApiError: 400, the type is unknown, or a field that it needs is missing.
    """
    if format is None:
        return None
    named = format.json_schema if isinstance(format, NestedFormat) else format
    fields = {name: getattr(format, name) for name in TextFormat.__struct_fields__}
    try:
        return read_response_format({**fields, "schema": named and named.schema})
    except ArgumentError as error:
        message = str(error).replace("response_format", f"'{path}'", 1)
        raise ApiError(400, message, code="invalid_argument", param=path) from None
