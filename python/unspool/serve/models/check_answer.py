"""Checks that a finished answer has what its request demands.

A grammar enforces most of it while a `StreamGenerator` generates. This check covers the rest, and other models. The
status is 422, which SDKs do not retry; they would retry a 500 and generate the answer twice more.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unspool.core.schema.schema_check import check
from unspool.core.stream.custom_tools import CUSTOM_SCHEMA
from unspool.errors import ArgumentError
from unspool.serve.http.api_errors import ApiError, shortened
from unspool.serve.wires.tools import said_of
from unspool.writing.grammar.response import response_grammar
from unspool.writing.grammar.tools import custom_text, is_strict
from unspool.writing.schemas.json_schema import normalise, normalise_arguments

if TYPE_CHECKING:
    from unspool.core.stream.message import Message
    from unspool.serve.wires.generation_request import GenerationRequest

__all__ = ["check_schemas", "check_values", "has_schemas", "no_tool_call"]

_log = logging.getLogger("unspool.serve")

# Maximum number of characters of an answer in an error's message.
_MAX_SHOWN = 1000


def has_schemas(request: GenerationRequest) -> bool:
    """Whether the request has a schema for its answer."""
    return request.response is not None or any(map(is_strict, request.tools.shown or ()))


def check_schemas(request: GenerationRequest) -> None:
    """Check the schemas that the answer must fit, before the model runs.

    Raises:
        ArgumentError: A schema is malformed or too large, or no value can match it.
    """
    if request.response is not None and request.response.schema is None:
        response_grammar(request.response)
    elif request.response is not None:
        try:
            normalise(request.response.schema)
        except ArgumentError as error:
            raise ArgumentError(f"the response's schema: {error}") from None
    for tool in filter(is_strict, request.tools.shown or ()):
        said = said_of(tool)
        try:
            if (text := custom_text(tool)) is None:
                normalise_arguments(said.get("parameters"))
            else:
                response_grammar(text)
        except ArgumentError as error:
            what = "parameters" if text is None else "format"
            raise ArgumentError(f"the {what} of '{said['name']}': {error}") from None


def no_tool_call(request: GenerationRequest, text: str) -> ApiError:
    """Return the error for an answer without its required call; it has the model's text."""
    return ApiError(
        422,
        f"tool_choice is '{request.tools.choice}', and the model made no call; send tool_choice 'auto', or "
        f"another prompt. It wrote: {_shown(text)}",
        code="no_tool_call",
        param="tool_choice",
    )


def check_values(request: GenerationRequest, message: Message) -> None:
    """Check the content against the response's schema, and the arguments of strict tools against their schemas.

    Args:
        message: A finished answer.

    Raises:
        ApiError: 422, something does not match; names the first mismatch.
    """
    calls = [call for call in message.tool_calls if call.is_complete]
    if request.response is not None and not calls:
        if request.response.schema is not None:
            _check(message.content, request.response.schema, "the answer", "response_format")
        elif not request.response.admits(message.content):
            name = request.response.name
            raise _misfit(f"the answer does not fit the {name} of the request", message.content, name)
    strict = {said_of(tool)["name"]: tool for tool in request.tools.shown or () if is_strict(tool)}
    for call in calls:
        if call.name not in strict:
            continue
        tool, what = strict[call.name], f"the call of '{call.name}'"
        text = custom_text(tool)
        _check(call.arguments, CUSTOM_SCHEMA if text else said_of(tool).get("parameters"), what, "tools")
        if text is not None and not text.admits(json.loads(call.arguments)["input"]):
            raise _misfit(f"{what} does not match its {text.name}", call.arguments, "tools")


def _check(text: str, schema: Mapping[str, Any] | None, what: str, param: str) -> None:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise _misfit(f"{what} is not JSON: {error}", text, param) from None
    try:
        violations = check(value, schema)
    except ArgumentError as error:  # in a part that no grammar expresses, so not found earlier
        _log.warning("a schema is not compared with the answer: %s", shortened(str(error)))
        return
    for violation in violations:
        raise _misfit(f"{what} does not fit its schema at {violation.path}: {violation.message}", text, param)


def _misfit(why: str, text: str, param: str) -> ApiError:
    return ApiError(422, f"{why}. The model wrote: {_shown(text)}", code="invalid_answer", param=param)


def _shown(text: str) -> str:
    return repr(text[:_MAX_SHOWN] + "…" * (len(text) > _MAX_SHOWN))
