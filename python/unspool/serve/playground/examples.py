"""The formats that the page offers, and their bundled cases."""

from __future__ import annotations

from typing import Any

from unspool.formats.format_file import FormatFile, formats, get_format
from unspool.testing.cases import shipped_cases

__all__ = ["example_list", "format_list"]

_GROUPS = {
    "json_call": "Calls as JSON objects",
    "json_arguments": "A name, then JSON",
    "xml_parameters": "Tagged parameters",
    "xml_elements": "Tagged parameters",
    "pythonic": "Python calls",
    "literal_arguments": "A name, then braces with bare keys",
}
_NO_CALLS = "No calls"


def format_list() -> list[dict[str, Any]]:
    """Return every format's name, group, models and aliases, and whether it has tools and reasoning."""
    order = [*dict.fromkeys(_GROUPS.values()), _NO_CALLS]
    items = [
        {
            "name": file.name,
            "group": _group(file),
            "models": list(file.models),
            "aliases": list(file.aliases),
            "has_tools": file.has_tools,
            "has_reasoning": file.has_reasoning,
        }
        for file in formats()
    ]
    return sorted(items, key=lambda item: (order.index(item["group"]), item["name"]))


def example_list(name: str) -> list[dict[str, Any]]:
    """Return a format's bundled cases as requests, with the number of `calls` in each.

    Raises:
        UnknownFormatError: No format has this name or alias.
    """
    file = get_format(name)
    cases = shipped_cases(file.name)
    return [
        {
            "name": case.name,
            "text": case.input,
            "tools": None if case.tools is None else list(case.tools),
            "options": case.options,
            "finish_reason": case.finish_reason,
            "calls": len(case.calls),
        }
        for case in cases
    ]


def _group(file: FormatFile) -> str:
    calls = file.facts.calls
    return _GROUPS[calls[0].body] if calls else _NO_CALLS
