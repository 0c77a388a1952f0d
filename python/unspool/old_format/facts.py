"""What the tables of a file say, fact by fact, to compare an old file with the new one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from unspool.old_format.tables import Table

__all__ = ["Fact", "facts_of", "stripped"]

#: A key's path and a value of it.
Fact = tuple[str, str]

_PARTS = ("ignore", "call_ids", "reasoning", "markup", "section", "call")
# What a table means if it does not say so.
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
    """What the tables say. Those of a list add up: a marker is a fact, whichever table has it."""
    return stripped(_facts("", {key: value for key, value in tables.items() if key in _PARTS}))


def stripped(facts: Iterable[Fact]) -> set[Fact]:
    """The facts without the white space around markers, which is a fact of its own."""
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
