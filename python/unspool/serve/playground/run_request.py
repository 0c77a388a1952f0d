"""Checks a request of the page. Each error names the field that is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from unspool._core import ToolSchemas
from unspool.core.stream.stream_options import PARSER_OPTIONS
from unspool.core.stream.tool_schemas import compile_tools
from unspool.errors import ArgumentError, UnknownFormatError
from unspool.formats.format_file import FormatFile, get_format
from unspool.generation.prompts.load_json import JsonError, load_json

__all__ = ["MAX_TEXT_BYTES", "RunError", "RunRequest", "read_request"]

MAX_TEXT_BYTES = 200_000

_KEYS = ("format", "text", "tools", "chunk", "options", "finish_reason")
_CHOICES = {
    name: PARSER_OPTIONS[name].words
    for name in (
        "tool_calls_in_reasoning", "calls_in_fences", "unknown_tools", "start_in", "white_space", "reasoning_field",
    )
}  # fmt: skip
_FINISH_REASONS = ("stop", "length", "error", "cancelled")


class RunError(ArgumentError):
    """Raised for a request that cannot be run.

    Attributes:
        where: The field that is wrong, such as "tools" or "options.repair".
        line, column: The position in the field's text, from 1; None if the field is not a text.
        status: The HTTP status.
    """

    def __init__(
        self,
        where: str,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        status: int = 422,
    ) -> None:
        super().__init__(message)
        self.where = where
        self.line = line
        self.column = column
        self.status = status

    def to_json(self) -> dict[str, Any]:
        """The body of the response."""
        found = {"message": str(self), "where": self.where, "line": self.line, "column": self.column}
        return {"error": {key: value for key, value in found.items() if value is not None}}


@dataclass(frozen=True)
class RunRequest:
    """An output and how to parse it.

    Attributes:
        chunk: How the text is split: a number of characters, "tokens" (pieces like a tokenizer's) or "bytes"
            (single bytes).
        options: Options of `Parser`.
    """

    format: FormatFile
    text: str
    tools: ToolSchemas | None = None
    chunk: int | str = 1
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    finish_reason: str = "stop"


def read_request(body: bytes) -> RunRequest:
    """Read the JSON of a request.

    Raises:
        RunError: The body is not JSON, or a field is missing, unknown or wrong.
    """
    data = _json("body", body, 400)
    if not isinstance(data, dict):
        raise RunError("body", "the body must be a JSON object")
    for key in data:
        if key not in _KEYS:
            raise RunError(key, f"there is no field '{key}'; use {', '.join(_KEYS)}")
    return RunRequest(
        format=_format(data.get("format")),
        text=_text("text", data.get("text")),
        tools=_tools(data.get("tools")),
        chunk=_chunk(data.get("chunk", 1)),
        options=_options(data.get("options") or {}),
        finish_reason=_one_of("finish_reason", data.get("finish_reason", "stop"), _FINISH_REASONS),
    )


def _json(where: str, text: bytes | str, status: int = 422) -> Any:
    try:
        return load_json(text)
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg}"
        raise RunError(where, message, line=error.lineno, column=error.colno, status=status) from None
    except JsonError as error:
        raise RunError(error.place or where, str(error), status=422 if error.place else status) from None
    except ValueError:
        raise RunError(where, "not JSON in UTF-8", status=status) from None


def _format(name: Any) -> FormatFile:
    if not isinstance(name, str):
        raise RunError("format", "format must be a name; /playground/formats lists them")
    try:
        return get_format(name)
    except UnknownFormatError as error:
        raise RunError("format", str(error)) from None


def _text(where: str, text: Any) -> str:
    if not isinstance(text, str):
        raise RunError(where, f"'{where}' is missing or not a string")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise RunError(where, "the text has an unpaired surrogate; remove it") from None
    if size > MAX_TEXT_BYTES:
        raise RunError(
            where,
            f"the text has {size:,} bytes, at most {MAX_TEXT_BYTES:,} are allowed; shorten it",
            status=413,
        )
    return text


def _tools(tools: Any) -> ToolSchemas | None:
    if isinstance(tools, str):
        tools = _json("tools", tools) if tools.strip() else None
    if tools is None:
        return None
    if not isinstance(tools, list):
        raise RunError("tools", 'tools must be a list; write [{"name": …, "parameters": {…}}]')
    try:
        return compile_tools(tools)
    except ArgumentError as error:
        raise RunError("tools", str(error)) from None


def _chunk(chunk: Any) -> int | str:
    if chunk in ("tokens", "bytes"):
        return str(chunk)
    if isinstance(chunk, int) and not isinstance(chunk, bool) and chunk > 0:
        return chunk
    raise RunError("chunk", "chunk must be a number of characters above 0, 'tokens' or 'bytes'")


def _options(options: Any) -> dict[str, Any]:
    if not isinstance(options, dict):
        raise RunError("options", "options must be a JSON object")
    checked = {}
    for name, value in options.items():
        check = _CHECKS.get(name)
        if check is None:
            raise RunError(f"options.{name}", f"there is no option '{name}'; use {', '.join(_CHECKS)}")
        if value is not None:
            checked[name] = check(f"options.{name}", value)
    return checked


def _one_of(where: str, value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise RunError(where, f"'{value}' is not one of {', '.join(choices)}")
    return str(value)


def _instance_of(types: tuple[type, ...], meaning: str) -> Callable[[str, Any], Any]:
    def check(where: str, value: Any) -> Any:
        if not isinstance(value, types):
            raise RunError(where, f"must be {meaning}")
        return value

    return check


def _choice_of(name: str) -> Callable[[str, Any], str]:
    return lambda where, value: _one_of(where, value, _CHOICES[name])


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    **{name: _choice_of(name) for name in _CHOICES},
    "parallel_tool_calls": _instance_of((bool,), "true or false"),
    "repair": _instance_of((bool,), "true or false"),
    "also": _instance_of((str, list), "the name of a format, a list of names, or 'any'"),
    "reasoning": _instance_of((str, bool), "the name of a format, or false"),
    "prompt": _text,
    "tool_choice": _instance_of((str, dict), "'auto', 'none', 'required' or the name of a tool"),
}
