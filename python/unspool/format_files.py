"""Reads and checks format files: TOML that describes one model family's output."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from unspool.errors import FormatError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

__all__ = ["FormatFile", "marker_tokens", "markers_of", "parse_detection", "parse_format", "read_format"]

_MARKER = (str, list)
_CHOICES: dict[str, tuple[str, ...]] = {
    "body": (
        "json_call",
        "json_arguments",
        "literal_arguments",
        "pythonic",
        "xml_parameters",
        "xml_elements",
    ),
    "bare": ("start", "line", "section"),
    "known_tools": ("any", "if_given", "required"),
    "trim": ("none", "newline", "space"),
    "call_ids": ("random", "nine", "functions"),
    "tool_calls": ("auto", "keep", "end"),
}


def _marker(name: str) -> dict[str, Any]:
    return {name: _MARKER, f"{name}_before": str, f"{name}_after": str}


_REASONING: dict[str, Any] = {
    **_marker("open"),
    **_marker("close"),
    "label": str,
    "starts_open": bool,
    "turn": _MARKER,
    "tool_calls": str,
}
_SECTION: dict[str, Any] = {**_marker("open"), **_marker("close")}
_JSON_CALL: dict[str, Any] = {
    "name_keys": list,
    "arguments_keys": list,
    "id_keys": list,
    "wrapper_keys": list,
    "name_is_key": bool,
}
_XML_PARAMETERS: dict[str, Any] = {
    **_marker("open"),
    **_marker("name_close"),
    **_marker("close"),
    "name_end": _MARKER,
    "types": {"*": str},
    "value_open": str,
    "trim": str,
    "next_closes": bool,
    "name_entities": bool,
    "guess_types": bool,
    "entities": bool,
    "python_values": bool,
    "json_body": bool,
}
_XML_ELEMENTS: dict[str, Any] = _marker("open")
_MARKUP: dict[str, Any] = {
    **_marker("open"),
    **_marker("close"),
    "begins": _MARKER,
    "recipient": str,
    "not_tools": _MARKER,
    "reasoning": _MARKER,
    "header": str,
    "inline": bool,
}
_CALL: dict[str, Any] = {
    **_marker("open"),
    **_marker("close"),
    **_marker("name_close"),
    **_marker("next"),
    "quotes": _MARKER,
    "bare": str,
    "fenced": bool,
    "may_be_text": bool,
    "starts": str,
    "second": str,
    "separators": str,
    "name_stops": str,
    "name_prefix": str,
    "name_is_id": bool,
    "id_open": str,
    "name_twice": bool,
    "by_recipient": bool,
    "known_tools": str,
    "body": str,
    "json_call": _JSON_CALL,
    "xml_parameters": _XML_PARAMETERS,
    "xml_elements": _XML_ELEMENTS,
}
_TEXTS = (list,)
_DETECT: dict[str, Any] = {
    **dict.fromkeys(("template", "template_not", "tokens", "model_types", "shared_types", "names"), _TEXTS),
    "named": bool,
}
_FILE: dict[str, Any] = {
    "name": str,
    "models": list,
    "aliases": list,
    "notes": str,
    "ignore": _MARKER,
    "call_ids": str,
    "plain": bool,
    "reasoning": _REASONING,
    "markup": [_MARKUP],
    "section": _SECTION,
    "detect": _DETECT,
    "call": [_CALL],
    "example": [
        {
            "input": str,
            "content": str,
            "reasoning": str,
            "calls": list,
            "tools": list,
            "prompt": str,
        }
    ],
}
#: The keys of the notation: each a pattern, or a list of alternatives.
PATTERN_KEYS = (
    "turn", "reasoning", "content", "calls", "call", "parameter", "object", "string", "header", "id", "end",
)  # fmt: skip
_PATTERN_FILE: dict[str, Any] = {
    **{key: _FILE[key] for key in ("name", "models", "aliases", "notes", "detect", "example")},
    **dict.fromkeys(PATTERN_KEYS, _MARKER),
}
_LISTS = {
    "open", "close", "name_close", "name_end", "next", "quotes", "turn", "ignore", "begins", "not_tools",
}  # fmt: skip

_MARKERS = {
    "open", "close", "name_close", "name_end", "next", "quotes", "ignore", "begins", "id_open",
    "value_open", "label",
}  # fmt: skip


@dataclass(frozen=True)
class FormatFile:
    """One format as its file says it.

    Attributes:
        description: What the native compiler takes: tables that say how to read, markers as lists.
        patterns: What the file says, by key: what the model writes, with holes.
        examples: Inputs with what they parse to.
        detect: What tells that a model writes it; `unspool.detect` adds it to what it ships.
    """

    name: str
    description: dict[str, Any]
    models: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    notes: str = ""
    examples: tuple[dict[str, Any], ...] = ()
    patterns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    detect: dict[str, Any] = field(default_factory=dict)
    source: str = field(default="", compare=False)

    @property
    def has_tools(self) -> bool:
        """Whether it says how calls are written."""
        return bool(self.description.get("call"))

    @property
    def is_plain(self) -> bool:
        """Whether everything is content."""
        return not self.has_tools and not self.has_reasoning

    @property
    def has_reasoning(self) -> bool:
        """Whether it says how reasoning is written."""
        return "reasoning" in self.description


def read_format(path: str | os.PathLike[str]) -> FormatFile:
    """Read one format file.

    Raises:
        FormatError: The file is not TOML, or not a format; the message names the line.
    """
    file = Path(path)
    return parse_format(file.read_text(encoding="utf-8"), source=file.name)


def parse_format(text: str, source: str = "<format>") -> FormatFile:
    """Read one format from its text."""
    data = _load(text, source)
    checker = _Checker(text, source)
    is_notation = _is_notation(data)
    checker.check(data, _PATTERN_FILE if is_notation else _FILE, "")
    if "name" not in data:
        raise FormatError(f'{source}:1: no name; write name = "..."')
    patterns = {key: tuple(_as_list(data[key])) for key in PATTERN_KEYS if is_notation and key in data}
    description = _compile(data["name"], patterns, checker) if is_notation else _describe(data, source)
    return FormatFile(
        name=data["name"],
        description=description,
        models=tuple(data.get("models", ())),
        aliases=tuple(data.get("aliases", ())),
        notes=data.get("notes", "").strip(),
        examples=tuple(data.get("example", ())),
        patterns=patterns,
        detect=data.get("detect", {}),
        source=source,
    )


def _is_notation(data: dict[str, Any]) -> bool:
    """Whether a file says what the model writes; before, files had tables that said how to read it."""
    calls, reasoning = data.get("call", ""), data.get("reasoning", "")
    has_tables = isinstance(reasoning, dict) or any(isinstance(item, dict) for item in _as_list(calls))
    return not has_tables and not data.keys() & {"ignore", "markup", "section", "call_ids", "plain"}


def _compile(name: str, patterns: dict[str, tuple[str, ...]], checker: _Checker) -> dict[str, Any]:
    if not patterns.keys() & {"call", "reasoning", "content"}:
        checker.fail(
            "name", 'neither calls nor reasoning; write call = or reasoning =, or content = "${content}"'
        )
    from unspool._core import compile_patterns  # tools that read tables alone do without it

    try:
        compiled = compile_patterns({"name": name, **patterns})
    except FormatError as error:
        checker.fail(str(error).split(":", 1)[0], str(error))
    description: dict[str, Any] = json.loads(compiled)
    return description


def _describe(data: dict[str, Any], source: str) -> dict[str, Any]:
    """The tables of a file that says how to read."""
    if not data.get("call") and "reasoning" not in data and not data.get("plain"):
        raise FormatError(f"{source}:1: neither calls nor reasoning; write call = or reasoning =")
    description = {
        key: _with_lists(value)
        for key, value in data.items()
        if key in ("ignore", "call_ids", "reasoning", "markup", "section", "call", "name")
    }
    if "ignore" in description:
        description["ignore"] = _as_list(description["ignore"])
    return description


def parse_detection(text: str, source: str) -> dict[str, dict[str, Any]]:
    """Read the `[detect]` tables of many formats, each under the format's name."""
    data = _load(text, source)
    _Checker(text, source).check(data, dict.fromkeys(data, _DETECT), "")
    return data


def _load(text: str, source: str) -> dict[str, Any]:
    try:
        data: dict[str, Any] = tomllib.loads(text)
        return data
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FormatError(f"{source}: not TOML: {error}") from None


def _are_texts(values: list[Any], nested: bool) -> bool:
    return all(
        bool(item) and _are_texts(item, False)
        if nested and isinstance(item, list)
        else item and isinstance(item, str)
        for item in values
    )


def markers_of(description: Any) -> set[str]:
    """Every text in a description that opens or closes something."""
    if isinstance(description, list):
        return {marker for item in description for marker in markers_of(item)}
    if not isinstance(description, dict):
        return set()
    found: set[str] = set()
    for key, value in description.items():
        if key in _MARKERS:
            found |= set(_as_list(value))
        elif isinstance(value, (dict, list)):
            found |= markers_of(value)
    return found


_TOKEN = re.compile(r"<[^<>\s]+>|\[/?[A-Z_]+\]")


def marker_tokens(description: Any) -> set[str]:
    """The texts that a tokenizer for this format would hold as one token each."""
    found: set[str] = set()
    for marker in markers_of(description):
        parts = _TOKEN.findall(marker)
        is_token = len(marker) > 3 and marker[0] in "<[◁" and not re.search(r"\s", marker)
        found |= set(parts) if parts else {marker} if is_token else set()
    return found


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _with_lists(value: Any) -> Any:
    """Markers may be written as one text; the compiler takes lists."""
    if isinstance(value, list):
        return [_with_lists(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _as_list(item) if _is_list(key, item) else _with_lists(item) for key, item in value.items()}


def _is_list(key: str, item: Any) -> bool:
    return key in _LISTS or (key == "reasoning" and isinstance(item, str))


class _Checker:
    """Compares a file's tables with what a format may hold."""

    def __init__(self, text: str, source: str) -> None:
        self._lines = text.splitlines()
        self._source = source

    def check(self, data: dict[str, Any], allowed: dict[str, Any], table: str) -> None:
        for key, value in data.items():
            path = f"{table}.{key}" if table else key
            expected = allowed.get(key, allowed.get("*"))
            if expected is None:
                self.fail(key, f"unknown key '{path}'; use one of {', '.join(sorted(allowed))}")
            self._check_value(path, key, value, expected)

    def _check_value(self, path: str, key: str, value: Any, expected: Any) -> None:
        if isinstance(expected, dict):
            if not isinstance(value, dict):
                self.fail(key, f"{path} is not a table; write [{path}]")
            self.check(value, expected, path)
        elif isinstance(expected, list):
            if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
                self.fail(key, f"{path} is not a list of tables; write [[{path}]]")
            for item in value:
                self.check(item, expected[0], path)
        elif not isinstance(value, expected):
            kinds = expected if isinstance(expected, tuple) else (expected,)
            names = " or ".join(kind.__name__ for kind in kinds)
            self.fail(key, f"{path} is a {type(value).__name__}; write a {names}")
        elif key in _CHOICES and isinstance(value, str) and value not in _CHOICES[key]:
            self.fail(key, f"{path} is '{value}'; use one of {', '.join(_CHOICES[key])}")
        elif (
            isinstance(value, list)
            and expected is _MARKER
            and not all(isinstance(item, str) and item for item in value)
        ):
            self.fail(key, f"{path} holds an empty or non-text marker; write its text")
        elif expected is _TEXTS and not _are_texts(value, nested=key in ("template", "tokens")):
            self.fail(key, f"{path} holds an empty or non-text item; write texts")
        elif value == "" and expected is _MARKER:
            self.fail(key, f"{path} is empty; write the marker's text")

    def fail(self, key: str, what: str) -> NoReturn:
        pattern = re.compile(rf"^\s*(\[+)?([\w.]*\.)?{re.escape(key)}\b")
        line = next((i for i, text in enumerate(self._lines, 1) if pattern.match(text)), 1)
        raise FormatError(f"{self._source}:{line}: {what}")
