"""Runs an answer's calls and returns the results as messages of the next turn."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from unspool.core.schema.function_schema import function_schema, import_msgspec, type_hints
from unspool.core.schema.schema_check import check_arguments
from unspool.core.stream.custom_tools import as_function_call
from unspool.core.stream.message import Message, ToolCall
from unspool.core.stream.tool import tool_name
from unspool.core.stream.typed_arguments import convert
from unspool.errors import ArgumentError, ToolCallError

__all__ = ["run_tools"]

_MAX_ERROR = 2_000


def run_tools(
    message: Message | Mapping[str, Any],
    functions: Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]],
    *,
    check: bool = True,
) -> list[dict[str, Any]]:
    """Run each call of a message, one after the other, and return the tool messages of the next turn.

    A call that is not complete has no tool message, because `Message.to_openai` withholds it. If a call fails (the tool
    does not exist, the arguments do not fit, or the function raises an exception), its result is the JSON
    `{"error": "..."}`, so that the model can correct the call.

    Args:
        message: The answer, or a chat message as a dict.
        functions: A dict of functions by the name that the model calls, or a list of functions. A parameter that is
            annotated with a pydantic model, dataclass or other class receives an instance of it. A result that is not
            a string is sent as JSON.
        check: Whether arguments must fit the tool's schema. This needs jsonschema.

    Raises:
        ArgumentError: A function has no name or is asynchronous, or `message` is not a message.
        UnspoolError: jsonschema is missing (`pip install 'unspool[tools]'`).
    """
    known = _by_name(functions)
    calls = [call for call in _calls(message) if call.is_complete]
    # Check all calls before any of them runs, because the check may raise.
    wrong = [_what_is_wrong(call, known, check) for call in calls]
    results = (
        _error(said) if said else _run(call, known[call.name])
        for call, said in zip(calls, wrong, strict=True)
    )
    return [
        {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": result}
        for call, result in zip(calls, results, strict=True)
    ]


def _by_name(functions: Any) -> dict[str, Callable[..., Any]]:
    if not isinstance(functions, Mapping):
        functions = {tool_name(function): function for function in functions}
    for name, function in functions.items():
        if name is None or not callable(function):
            raise ArgumentError(
                f"{function!r:.200} is no function with a name; pass a dict of functions by name"
            )
        if any(map(inspect.iscoroutinefunction, (function, getattr(function, "__call__", None)))):  # noqa: B004
            raise ArgumentError(
                f"'{name}' is asynchronous; pass a function that waits for it, such as one with asyncio.run"
            )
    return dict(functions)


def _calls(message: Any) -> Iterable[ToolCall]:
    if isinstance(message, Message):
        return message.tool_calls
    if not isinstance(message, Mapping):
        raise ArgumentError(f"message is a {type(message).__name__}; pass a Message or a dict")
    return [_read_call(call) for call in message.get("tool_calls") or ()]


def _read_call(call: Mapping[str, Any]) -> ToolCall:
    try:
        function = as_function_call(call)["function"]
        arguments = function.get("arguments", "{}")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return ToolCall(str(call.get("id") or ""), function["name"], text, "complete")
    except (KeyError, TypeError, AttributeError):
        raise ArgumentError(
            f"{call!r:.200} is no call of a chat message; it has no function with a name"
        ) from None


def _what_is_wrong(call: ToolCall, functions: Mapping[str, Callable[..., Any]], check: bool) -> str:
    """Return why a call cannot run; empty if it can."""
    function = functions.get(call.name)
    if function is None:
        return f"there is no tool '{call.name}'; the tools are {', '.join(functions)}"
    if not check:
        return ""
    schema = call.schema_text()
    if schema is None:
        schema = json.dumps(function_schema(function)[1])
    return "; ".join(
        f"{violation.path}: {violation.message}" for violation in check_arguments(call.arguments, schema)
    )


def _run(call: ToolCall, function: Callable[..., Any]) -> str:
    try:
        return _as_text(function(**_arguments(call, function)))
    except ToolCallError as error:
        return _error(str(error))
    except Exception as error:  # raised by the tool
        return _error(f"{type(error).__name__}: {error}")


def _arguments(call: ToolCall, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        inspect.signature(function).bind(**call.args)
    except TypeError as error:
        raise ToolCallError(f"the arguments do not fit: {error}") from None
    hints = type_hints(function)
    return {name: convert(value, hints.get(name, Any), f"'{name}'") for name, value in call.args.items()}


def _as_text(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(result, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if hasattr(value, "__struct_fields__"):
        return import_msgspec("a struct").to_builtins(value)
    return list(value) if isinstance(value, (set, frozenset)) else str(value)


def _error(text: str) -> str:
    return json.dumps({"error": text[:_MAX_ERROR]}, ensure_ascii=False)
