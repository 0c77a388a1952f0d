"""Converts the caller's object to the message to be rendered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unspool.core.stream.custom_tools import as_function_call
from unspool.core.stream.message import Message, ToolCall
from unspool.errors import ArgumentError

__all__ = ["Answer", "AnswerCall", "read_answer"]

_MAX_DEPTH = 200


@dataclass(frozen=True)
class AnswerCall:
    """A call to be written.

    Attributes:
        arguments: The call's arguments.
        text: The arguments as JSON, as given or as serialized by Python.
        id: The call's id; "" if there is none.
    """

    name: str
    arguments: dict[str, Any]
    text: str
    id: str = ""


@dataclass(frozen=True)
class Answer:
    """A message to be written.

    Attributes:
        reports: The number of malformed texts that the parser reported in this message.
    """

    reasoning: str = ""
    content: str = ""
    calls: tuple[AnswerCall, ...] = ()
    reports: int = 0


def read_answer(message: Message | Mapping[str, Any]) -> Answer:
    """Read the parts of a message.

    Args:
        message: A parsed `Message`, or an assistant message in the form of OpenAI's API.

    Raises:
        ArgumentError: `message` is neither, or a part of it has the wrong type.
    """
    if isinstance(message, Message):
        calls = [_parsed_call(call, number) for number, call in enumerate(message.tool_calls)]
        return Answer(message.reasoning, message.content, tuple(calls), len(message.malformed))
    if not isinstance(message, Mapping):
        raise ArgumentError(f"the message is of type {type(message).__name__}; pass a Message or a dict")
    reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
    return Answer(
        _text(reasoning, "the reasoning"),
        _content(message.get("content")),
        tuple(_given_call(call, number) for number, call in enumerate(message.get("tool_calls") or ())),
    )


def _parsed_call(call: ToolCall, number: int) -> AnswerCall:
    if not call.is_complete:
        raise ArgumentError(f"call {number} ({call.name}) is {call.status}; leave it out")
    return _call(call.name, call.arguments, call.id, number)


def _given_call(call: Any, number: int) -> AnswerCall:
    if isinstance(call, ToolCall):
        return _parsed_call(call, number)
    if not isinstance(call, Mapping):
        raise ArgumentError(f"call {number} is of type {type(call).__name__}; pass a dict")
    call = as_function_call(call)
    function = call.get("function", call)
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise ArgumentError(f"call {number} has no name; pass {{'function': {{'name': …, 'arguments': …}}}}")
    return _call(function["name"], function.get("arguments"), call.get("id"), number)


def _call(name: str, arguments: Any, id: Any, number: int) -> AnswerCall:
    place = f"the arguments of call {number} ({name})"
    text = arguments.strip() if isinstance(arguments, str) else ""
    try:
        if isinstance(arguments, str):
            arguments = json.loads(text or "{}", parse_constant=_refuse)
        text = text or json.dumps(arguments or {}, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{place} are not valid JSON: {error}") from None
    arguments = {} if arguments is None else arguments
    if not isinstance(arguments, Mapping):
        raise ArgumentError(f"{place} are not an object; pass a dict, or its JSON")
    _check_value(arguments, place)
    own_id = id if isinstance(id, str) else ""
    return AnswerCall(_text(name, "a name"), json.loads(_text(text, place)), text, _text(own_id, "an id"))


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON value")


def _check_value(value: Any, place: str, depth: int = 0) -> None:
    """Reject values that JSON cannot represent exactly: Python would write a numeric key as text."""
    if depth > _MAX_DEPTH:
        raise ArgumentError(f"{place} are nested in more than {_MAX_DEPTH} levels; make them flatter")
    if isinstance(value, Mapping) and not all(isinstance(key, str) for key in value):
        raise ArgumentError(f"{place} have a key that is not text; write it as text")
    inner = (
        value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    )
    for item in inner:
        _check_value(item, place, depth + 1)


def _content(given: Any) -> str:
    if not isinstance(given, (list, tuple)):
        return _text(given or "", "the content")
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in given]
    return "".join(_text(text, "a part of the content") for text in texts)


def _text(given: Any, place: str) -> str:
    if not isinstance(given, str):
        raise ArgumentError(f"{place} is of type {type(given).__name__}; pass text")
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{place} cannot be encoded as UTF-8: {error.reason}; mend the text") from None
    return given
