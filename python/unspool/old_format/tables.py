"""Reads and validates an old format file: tables that describe how to parse an output."""

from __future__ import annotations

import re
import sys
from typing import Any, NoReturn

from unspool.errors import FormatError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

__all__ = ["Table", "listed", "load_toml", "read_tables"]

Table = dict[str, Any]

# The type of each key's value. A dict is a table, a list with a dict a list of tables, a tuple a choice.
_TEXT, _FLAG, _LIST, _MARKER = "a text", "true or false", "a list of texts", "a text, or a list of texts"


def _marker(name: str) -> Table:
    return {name: _MARKER, f"{name}_before": _TEXT, f"{name}_after": _TEXT}


def _keys(kind: str, names: str) -> Table:
    return dict.fromkeys(names.split(), kind)


_JSON_CALL = {**_keys(_LIST, "name_keys arguments_keys id_keys wrapper_keys"), "name_is_key": _FLAG}
_XML_PARAMETERS = {
    **_marker("open"), **_marker("name_close"), **_marker("close"),
    "name_end": _MARKER,
    "types": {"*": _TEXT},
    "value_open": _TEXT,
    "trim": ("none", "newline", "space"),
    **_keys(_FLAG, "next_closes name_entities guess_types entities python_values json_body"),
}  # fmt: skip
_BODIES = (
    "json_call", "json_arguments", "literal_arguments", "pythonic", "xml_parameters", "xml_elements",
)  # fmt: skip
_CALL = {
    **_marker("open"), **_marker("close"), **_marker("name_close"), **_marker("next"),
    "quotes": _MARKER,
    "bare": ("start", "line", "section"),
    "known_tools": ("any", "if_given", "required"),
    "body": _BODIES,
    **_keys(_TEXT, "starts second separators name_stops name_prefix id_open"),
    **_keys(_FLAG, "fenced may_be_text name_is_id name_twice by_recipient"),
    "json_call": _JSON_CALL,
    "xml_parameters": _XML_PARAMETERS,
    "xml_elements": _marker("open"),
}  # fmt: skip
_REASONING = {
    **_marker("open"), **_marker("close"),
    "label": _TEXT,
    "starts_open": _FLAG,
    "turn": _MARKER,
    "tool_calls": ("auto", "keep", "end"),
}  # fmt: skip
_MARKUP = {
    **_marker("open"), **_marker("close"),
    **_keys(_MARKER, "begins not_tools reasoning"),
    **_keys(_TEXT, "recipient header"),
    "inline": _FLAG,
}  # fmt: skip
_FILE = {
    **_keys(_TEXT, "name notes"),
    **_keys(_LIST, "models aliases"),
    "ignore": _MARKER,
    "call_ids": ("random", "nine", "functions"),
    "plain": _FLAG,
    "reasoning": _REASONING,
    "markup": [_MARKUP],
    "section": {**_marker("open"), **_marker("close")},
    "call": [_CALL],
    "detect": {},  # unchanged today: validated with the new file
    "example": [{}],
}


def load_toml(text: str, source: str) -> Table:
    """The tables of a TOML text. Raises FormatError if it is not TOML."""
    try:
        tables: Table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FormatError(f"{source}: not TOML: {error}") from None
    return tables


def read_tables(text: str, source: str) -> Table:
    """Read a file's tables; each marker becomes a list of texts.

    Raises:
        FormatError: The file is not TOML, is in the notation already, or has an unknown key or a value of
            the wrong type; the message names the line.
    """
    data = load_toml(text, source)
    if _is_notation(data):
        raise FormatError(f"{source}: it says what the model writes already; there is nothing to migrate")
    checker = _Checker(text, source)
    checker.check(data, _FILE, "")
    if "name" not in data:
        checker.fail("", 'no name; write name = "..."')
    if not data.get("call") and "reasoning" not in data and not data.get("plain"):
        checker.fail("", "neither calls nor reasoning; write call = or reasoning =")
    tables: Table = _with_lists(data, _FILE)
    return tables


def _is_notation(data: Table) -> bool:
    """Whether the file uses the new notation: texts in place of tables."""
    calls, reasoning = data.get("call", ""), data.get("reasoning", "")
    has_tables = isinstance(reasoning, dict) or any(isinstance(item, dict) for item in listed(calls))
    says_something = data.keys() & {"call", "reasoning", "content"}
    return (
        bool(says_something) and not has_tables and not data.keys() & {"ignore", "markup", "section", "plain"}
    )


def listed(value: Any) -> list[Any]:
    """The value as a list."""
    return value if isinstance(value, list) else [value]


def _with_lists(value: Any, expected: Any) -> Any:
    if isinstance(expected, list):
        return [_with_lists(item, expected[0]) for item in value]
    if isinstance(expected, dict) and expected:
        filled = {key: _with_lists(item, _expected(expected, key)) for key, item in value.items()}
        return {key: item for key, item in filled.items() if item != []}
    return listed(value) if expected == _MARKER else value


def _expected(allowed: Table, key: str) -> Any:
    return allowed.get(key, allowed.get("*"))


def _is_right(value: Any, kind: str) -> bool:
    if kind == _FLAG:
        return isinstance(value, bool)
    if kind == _TEXT:
        return isinstance(value, str)
    if kind == _MARKER and not isinstance(value, list):
        return isinstance(value, str) and value != ""
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


class _Checker:
    """Validates a file's tables."""

    def __init__(self, text: str, source: str) -> None:
        self._lines = text.split("\n")
        self._source = source

    def check(self, data: Table, allowed: Table, table: str) -> None:
        for key, value in data.items():
            path = f"{table}.{key}" if table else key
            expected = _expected(allowed, key)
            if expected is None:
                self.fail(key, f"unknown key '{path}'; use one of {', '.join(sorted(allowed))}")
            self._check_value(path, key, value, expected)

    def _check_value(self, path: str, key: str, value: Any, expected: Any) -> None:
        if isinstance(expected, dict):
            if not isinstance(value, dict):
                self.fail(key, f"{path} is not a table; write [{path}]")
            if expected:
                self.check(value, expected, path)
        elif isinstance(expected, list):
            if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
                self.fail(key, f"{path} is not a list of tables; write [[{path}]]")
            for item in value if expected[0] else []:
                self.check(item, expected[0], path)
        elif isinstance(expected, tuple):
            if value not in expected:
                self.fail(key, f"{path} is {value!r}; use one of {', '.join(expected)}")
        elif not _is_right(value, expected):
            self.fail(key, f"{path} is {value!r}; write {expected}")

    def fail(self, key: str, what: str) -> NoReturn:
        pattern = re.compile(rf"^\s*(\[+)?([\w.]*\.)?{re.escape(key)}\b")
        lines = [number for number, text in enumerate(self._lines, 1) if key and pattern.match(text)]
        raise FormatError(f"{self._source}:{lines[0] if lines else 1}: {what}")
