"""How the parser reads a format, in sentences: a blank or a bracket in a pattern decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unspool.format_files import FormatFile
from unspool.testing.writer import write_answer

__all__ = ["SAMPLE_CALL", "SAMPLE_TOOLS", "explain_format", "sample_of"]

SAMPLE_CALL: tuple[str, dict[str, Any]] = ("get_weather", {"city": "Paris"})
#: The tool that the sample's call is to.
SAMPLE_TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
]

_ARGUMENTS = {
    "json_call": "one JSON object with name and arguments, or a list of these",
    "json_arguments": "one JSON object",
    "literal_arguments": "braces with bare keys",
    "pythonic": "a Python call",
    "xml_elements": "elements within elements",
}
_TRIMS = {
    "none": "a value is kept to the letter",
    "newline": "one line break at each side of a value is dropped",
    "space": "all white space around a value is dropped",
}
_PLACES = {
    "start": "at the start of the message",
    "line": "at the start of any line, or in a fenced block",
    "section": "after another call, or after what opens the calls",
}
_IN_REASONING = {
    "auto": "A call inside reasoning waits. If the reasoning closes after it, it is text; else it is a call.",
    "keep": "A call inside reasoning is text.",
    "end": "A call inside reasoning ends it.",
}


def explain_format(file: FormatFile) -> list[str]:
    """Sentences that say how the format is read."""
    return list(_sentences(file.description))


def sample_of(file: FormatFile) -> str:
    """An answer as the format's model writes it: reasoning, content and a call, as far as it has them."""
    made = [SAMPLE_CALL] if file.has_tools else []
    return write_answer(file, "I think." if file.has_reasoning else "", "" if made else "Hello!", made)


def _sentences(description: dict[str, Any]) -> Iterator[str]:
    reasoning = description.get("reasoning")
    if reasoning:
        yield (
            f"Reasoning stands between {_named(reasoning, 'open')} and {_named(reasoning, 'close')}"
            f"{_space(reasoning)}."
        )
        if reasoning.get("starts_open"):
            yield "Where the prompt is not known, the output starts inside the reasoning."
        yield _IN_REASONING[reasoning.get("tool_calls", "auto")]
    if "section" in description:
        section = description["section"]
        yield f"All calls stand between {_named(section, 'open')} and {_named(section, 'close')}{_space(section)}."
    for call in description.get("call", ()):
        yield from _call(call)
    for markup in description.get("markup", ()):
        if "close" in markup:
            yield f"What stands between {_named(markup, 'open')} and {_named(markup, 'close')} is a header. It is dropped."
        else:
            yield f"{_named(markup, 'open')} is dropped wherever it stands{_space(markup)}."
    if description.get("ignore"):
        yield f"{_listed(description['ignore'])} ends an answer."
    if not description.get("call") and not reasoning:
        yield "Everything else is content."


def _call(call: dict[str, Any]) -> Iterator[str]:
    if call.get("by_recipient"):
        opens = "A call opens after a header that says so, or names its tool"
    elif "bare" in call:
        opens = f"A call may begin without an opener {_PLACES[call['bare']]}, if what follows reads as one"
    else:
        opens = f"A call opens at {_named(call, 'open')}"
    closes = f", and closes at {_named(call, 'close')}" if call.get("close") else ""
    yield f"{opens}{closes}{_space(call)}."
    if call.get("may_be_text"):
        yield f"{_named(call, 'open')} is a word: it is content unless a call follows."
    ends = [*call.get("name_close", ()), *call.get("name_stops", "")]
    if ends:
        yield f"Its name ends at {_listed(ends)}."
    body = call.get("body", "json_call")
    if body != "xml_parameters":
        yield f"Its arguments are {_ARGUMENTS[body]}."
        return
    tags = call["xml_parameters"]
    if tags.get("keyless"):
        yield f"Its text is the tool's only parameter; {_TRIMS[tags.get('trim', 'newline')]}."
        return
    if tags.get("json_open"):
        yield f"One JSON object between {_named(tags, 'json_open')} and {_named(tags, 'json_close')} is its arguments."
    yield (
        f"A parameter opens at {_named(tags, 'open')}; its name ends at "
        f"{_listed([*tags.get('name_end', ()), *tags['name_close']])}, its value at {_named(tags, 'close')}; "
        f"{_TRIMS[tags.get('trim', 'newline')]}."
    )


def _space(table: dict[str, Any]) -> str:
    """What white space is markup around a table's markers."""
    places = {"open_before": "before the opener", "open_after": "after the opener",
              "close_before": "before the closer", "close_after": "after the closer"}  # fmt: skip
    found = [f"{table[key]!r} {place}" for key, place in places.items() if table.get(key)]
    return f". It drops {_joined(found)}" if found else ""


def _joined(parts: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _named(table: dict[str, Any], key: str) -> str:
    return _listed(table.get(key, ()))


def _listed(texts: Any) -> str:
    return " or ".join(f"`{text}`" if text.strip() else repr(text) for text in texts) or "the end"
