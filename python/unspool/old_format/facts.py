"""Extracts facts from a file's tables, to compare an old file with the new one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from unspool.old_format.tables import Table

__all__ = ["Fact", "facts_of", "stripped"]

#: A key's path and one of its values.
Fact = tuple[str, str]

_PARTS = ("ignore", "call_ids", "reasoning", "markup", "section", "call")
# Defaults of a table.
_DEFAULTS: dict[str, Table] = {
    "reasoning": {"tool_calls": "auto"},
    "call": {"body": "json_call"},
    "call.xml_parameters": {"trim": "newline"},
    "call.json_call": {
        "name_keys": ["name"],
        "arguments_keys": ["arguments", "parameters"],
        "id_keys": ["id"],
        "wrapper_keys": ["function"],
    },
}
_NAME_IS_KEY = {"name_is_key": True}


def facts_of(tables: Table) -> set[Fact]:
    """The facts of the tables. Tables in a list are merged: a marker is one fact, whichever table has it."""
    return stripped(_facts("", {key: value for key, value in tables.items() if key in _PARTS}))


def stripped(facts: Iterable[Fact]) -> set[Fact]:
    """The facts without the white space around markers, which is a separate fact."""
    return {
        (key, value if key.endswith(("_before", "_after")) else value.strip() or value)
        for key, value in facts
    }


def _facts(path: str, value: Any) -> Iterator[Fact]:
    if isinstance(value, dict):
        table = value if value == _NAME_IS_KEY else {**_DEFAULTS.get(path, {}), **value}
        for key, item in table.items():
            yield from _facts(f"{path}.{key}" if path else key, item)
    elif isinstance(value, list):
        for item in value:
            yield from _facts(path, item)
    elif value is True:
        yield path, "true"
    elif value:
        yield path, value
