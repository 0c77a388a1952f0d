"""How the parser reads a format, in sentences: a blank or a bracket in a pattern decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unspool.format_files import FormatFile
from unspool.testing.writer import write_answer

__all__ = [
    "SAMPLE_CALL",
    "SAMPLE_CONTENT",
    "SAMPLE_REASONING",
    "SAMPLE_TOOLS",
    "explain_format",
    "reading_of",
    "sample_of",
]

SAMPLE_CALL: tuple[str, dict[str, Any]] = ("get_weather", {"city": "Paris"})
#: The tool that the sample's call is to.
SAMPLE_TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
]
#: The sample's reasoning in a format that has some.
SAMPLE_REASONING = "I think."
#: The sample's content in a format without calls.
SAMPLE_CONTENT = "Hello!"

_BODIES = {
    "json_arguments": "The arguments are one JSON object.",
    "literal_arguments": "The arguments are one object in braces, with bare keys.",
    "pythonic": "The call is a Python call: `name(key=value)`.",
    "xml_elements": "Each parameter is an element. Elements may stand within elements.",
}
_TRIMS = {
    "none": "The value keeps all white space.",
    "newline": "The parser drops one line break at each side of the value.",
    "space": "The parser drops all white space around the value.",
}
_PLACES = {
    "start": "At the start of the message",
    "line": "At the start of any line",
    "section": "After another call, or after the opener of all calls",
}
_KNOWN_TOOLS = {
    "required": "A call there counts only if it names one of the request's tools.",
    "if_given": "If the request's tools are known, a call there must name one of them.",
}
_IN_REASONING = {
    "auto": "A call inside reasoning waits. It stays text if the reasoning closes after it. Otherwise it is a call.",
    "keep": "A call inside reasoning is text.",
    "end": "A call inside reasoning ends the reasoning.",
}
_SPACES = {
    "open_before": "before the opener",
    "open_after": "after the opener",
    "close_before": "before the closer",
    "close_after": "after the closer",
}


def explain_format(file: FormatFile) -> list[str]:
    """Sentences that say how the format is read."""
    return list(_sentences(file.description))


def reading_of(file: FormatFile) -> list[str]:
    """What `unspool check` prints: the sentences, and a sample of what the model writes."""
    return [*explain_format(file), f"A sample: {sample_of(file)!r}"]


def sample_of(file: FormatFile) -> str:
    """An answer as the format's model writes it: reasoning, content and a call, as far as it has them."""
    made = [SAMPLE_CALL] if file.has_tools else []
    return write_answer(
        file, SAMPLE_REASONING if file.has_reasoning else "", "" if made else SAMPLE_CONTENT, made
    )


def _sentences(description: dict[str, Any]) -> Iterator[str]:
    reasoning = description.get("reasoning")
    if reasoning:
        yield from _between("Reasoning stands", reasoning)
        if reasoning.get("starts_open"):
            yield "If the prompt is not known, the output starts inside the reasoning."
        yield _IN_REASONING[reasoning.get("tool_calls", "auto")]
    markup = description.get("markup", ())
    for header in markup:
        if "close" in header:
            yield from _header(header)
    if "section" in description:
        yield from _between("All calls stand", description["section"])
    forms = dict.fromkeys(tuple(_call(call)) for call in description.get("call", ()))
    for number, form in enumerate(forms):
        yield form[0].replace("A call", "Another form of a call", 1) if number else form[0]
        yield from form[1:]
    yield from _dropped([one for one in markup if "close" not in one])
    if description.get("ignore"):
        yield f"An answer ends with {_listed(description['ignore'])}."
    if not description.get("call") and not reasoning:
        yield "Everything else is content."


def _between(what: str, table: dict[str, Any]) -> Iterator[str]:
    yield f"{what} between {_named(table, 'open')} and {_named(table, 'close')}."
    yield from _space(table)


def _header(header: dict[str, Any]) -> Iterator[str]:
    if header.get("inline"):
        yield f"The parser drops {_named(header, 'open')}, {_named(header, 'close')} and the text between them."
        return
    yield from _between("A header stands", header)
    if header.get("reasoning"):
        yield f"A header with {_listed(header['reasoning'])} opens reasoning."
    if header.get("calls"):
        yield f"A header with {_listed(header['calls'])} opens calls."
    if header.get("recipient"):
        yield f"What follows `{header['recipient']}` in a header names the tool{_unless(header)}."
    if header.get("names_tool"):
        yield f"A header names the tool{_unless(header)}."


def _unless(header: dict[str, Any]) -> str:
    return f", unless it is {_listed(header['not_tools'])}" if header.get("not_tools") else ""


def _dropped(markup: list[dict[str, Any]]) -> Iterator[str]:
    """Markup that stands alone: all that has no white space around it in one sentence."""
    bare = dict.fromkeys(text for one in markup if not _spaces(one) for text in one["open"])
    if bare:
        yield f"The parser drops {_listed(bare, 'and')}."
    for one in markup:
        if found := _spaces(one):
            spaces = _joined(found, "and").replace("the opener", "it")
            yield f"The parser drops {_named(one, 'open')} with {spaces}."


def _call(call: dict[str, Any]) -> Iterator[str]:
    end = f" and ends with {_named(call, 'close')}" if call.get("close") else ""
    if call.get("by_recipient"):
        yield f"A call begins after the header that announces it{end}."
    elif "bare" in call:
        place = _PLACES[call["bare"]] + (" or in a fenced block" if call.get("fenced") else "")
        yield f"{place}, a call needs no opener. Text there that is no call is content."
        yield from filter(None, [_KNOWN_TOOLS.get(call.get("known_tools", ""))])
    else:
        yield f"A call begins with {_named(call, 'open')}{end}."
    yield from _space(call)
    if call.get("may_be_text"):
        yield f"{_named(call, 'open')} may also be text: it is content unless a call follows."
    if call.get("name_prefix"):
        yield f"The parser drops `{call['name_prefix']}` before the tool's name."
    ends = [*call.get("name_close", ()), *call.get("name_stops", "")]
    if ends:
        yield f"The tool's name ends at {_listed(ends)}."
    body = call.get("body", "json_call")
    if body == "json_call":
        yield from _object(call.get("json_call", {}))
    elif body == "xml_parameters":
        yield from _parameters(call["xml_parameters"])
    else:
        yield _BODIES[body]


def _object(keys: dict[str, Any]) -> Iterator[str]:
    yield "The call is one JSON object, or a list of them."
    if keys.get("name_is_key"):
        yield "The object's key is the tool's name, and its value holds the arguments."
        return
    name = _listed(keys.get("name_keys", ["name"]))
    arguments = _listed(keys.get("arguments_keys", ["arguments", "parameters"]))
    yield f"The tool's name is at the key {name}, and the arguments are at {arguments}."


def _parameters(tags: dict[str, Any]) -> Iterator[str]:
    trim = _TRIMS[tags.get("trim", "newline")]
    if tags.get("keyless"):
        yield f"The text in the call is the tool's only parameter. {trim}"
        return
    if tags.get("json_open"):
        yield (
            f"One JSON object between {_named(tags, 'json_open')} and {_named(tags, 'json_close')} "
            "may stand in place of parameters."
        )
    key_ends = _listed([*tags.get("name_end", ()), *tags["name_close"]])
    yield f"A parameter begins with {_named(tags, 'open')}."
    yield f"Its key ends at {key_ends}, and its value at {_named(tags, 'close')}."
    if tags.get("types"):
        yield f"Markup before the value gives its type, such as `{next(iter(tags['types']))}`."
    yield trim


def _space(table: dict[str, Any]) -> Iterator[str]:
    """What white space is markup around a table's markers."""
    if found := _spaces(table):
        yield f"The parser drops {_joined(found, 'and')}."


def _spaces(table: dict[str, Any]) -> list[str]:
    return [f"{table[key]!r} {place}" for key, place in _SPACES.items() if table.get(key)]


def _joined(parts: list[str], word: str) -> str:
    return f" {word} ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _named(table: dict[str, Any], key: str) -> str:
    return _listed(table.get(key, ()))


def _listed(texts: Any, word: str = "or") -> str:
    return _joined([_shown(text) for text in texts] or ["the end"], word)


def _shown(text: str) -> str:
    """A text as inline code; white space alone, and a line break within, as Python writes it."""
    if not text.strip() or "\n" in text:
        return repr(text)
    return f"`` {text} ``" if "`" in text else f"`{text}`"
