"""Describes the differences between an old file and its new one, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from unspool.old_format.facts import Fact
from unspool.old_format.tables import Table

__all__ = ["merged_options", "notes_of"]

# The parser has rules for these; formats do not define them.
_RULES = {
    "call.starts", "call.second", "call.separators", "call.name_stops", "call.xml_parameters.json_body",
    "call.open_after", "call.close_before", "call.name_close_before", "call.name_close_after",
    "section.close_before", "markup.begins", "markup.starts_open",
}  # fmt: skip
_LOST = {
    "call.may_be_text": "An opener may be text if it is a word. An opener with a bracket is always markup",
    "call.name_prefix": "A prefix may be missing only if a token stands before it",
    "call.xml_parameters.guess_types": "It is the option json of a value now",
    "call.xml_parameters.next_closes": (
        "The parser has a rule of its own: the opener and the whole name of another parameter end a value"
    ),
    "markup.header": "A header may hold the words that the patterns have in it",
    "markup.not_tools": "A header's recipients that are no tools are user, assistant and all",
    "reasoning.tool_calls": "A call inside reasoning is text if the reasoning closes after it",
    "markup.inline": "White space next to the marker is markup too",
    "section.close_after": "This white space is content now",
}
# Texts that every format accepts in addition to its file.
_ALWAYS_READ = ("call.xml_parameters.types.", "call.json_call.")


def notes_of(old: set[Fact], new: set[Fact]) -> Iterator[str]:
    """A sentence for each difference between the facts of the old and the new file."""
    lost, gained = sorted(old - new), sorted(new - old)
    for key, value in lost:
        if key in _RULES:
            continue
        why = f". {_LOST[key]}" if key in _LOST else ""
        if value == "true":
            yield f"{key}: the new file cannot say it{why}."
        else:
            yield f"{key}: the new file cannot say {value!r}{why}."
    lost_keys = {key for key, _ in lost}
    for key, value in gained:
        if key in _RULES or key.startswith(_ALWAYS_READ) or (key in lost_keys and key in _LOST):
            continue
        yield f"{key}: the new file also says {value!r}."


def merged_options(tables: Table) -> Iterator[str]:
    """A sentence for each kind of body whose options differ between two calls."""
    for key, word in (("json_call", "object"), ("xml_parameters", "parameter"), ("quotes", "string")):
        options = [call.get(key) for call in tables.get("call", ()) if _has_body(call, key)]
        if any(other != options[0] for other in options):
            yield f"call.{key}: two calls differ here. In the new file '{word}' says it for all calls."


def _has_body(call: Table, key: str) -> bool:
    return bool(call.get("body", "json_call") == ("literal_arguments" if key == "quotes" else key))
