"""Converts old tables to patterns: tagged parameters."""

from __future__ import annotations

import re

from unspool.old_format.messages import aligned
from unspool.old_format.tables import Table

__all__ = ["parameter_patterns", "quoted"]

_CDATA = "<![CDATA["
_EDGES = {"newline": "\n", "space": " ", "none": ""}
# The type names that `${type}` stands for.
_TYPE_NAMES = {
    "string": "string", "number": "number", "integer": "integer", "boolean": "boolean", "null": "null",
    "object": "object", "array": "array", "str": "string", "int": "integer", "num": "number",
    "float": "number", "bool": "boolean", "dict": "object", "list": "array",
}  # fmt: skip


def quoted(opener: str, hole: str) -> str:
    """The hole, in quotes if it is the value of an attribute."""
    return f'"{hole}"' if opener.endswith("name=") or (opener.endswith("=") and " " in opener) else hole


def parameter_patterns(call: Table) -> list[str]:
    """The alternatives for one parameter of a call."""
    if call.get("body") == "xml_elements":
        return [
            f"{tag}${{key}}>${{value}}{tag}/${{key}}>" for tag in call.get("xml_elements", {}).get("open", ())
        ]
    if call.get("body") != "xml_parameters":
        return []
    tags = call.get("xml_parameters", {})
    closes = [text for text in tags.get("close", ()) if not text.startswith("]]>")]
    rows = aligned(tags.get("open", []), tags.get("name_end", []), tags.get("name_close", []), closes)
    found = []
    if tags.get("value_open") == _CDATA:
        opener, name_end, name_close, closer = rows[0]
        start = opener + _key(tags, opener) + name_end + name_close
        found.append(f"{start}{_CDATA}${{value:verbatim}}]]>{closer}\n")
    edge = _EDGES[tags.get("trim", "newline")]
    for opener, name_end, name_close, closer in rows:
        for attribute, options in _attributes(tags, name_end):
            value = f"{edge}${{value{_options(tags, options)}}}{edge}{closer}\n"
            for gap in [""] if attribute else _gaps(name_end, name_close):
                found.append(opener + _key(tags, opener) + name_end + attribute + gap + name_close + value)
    return found


def _gaps(name_end: str, name_close: str) -> list[str]:
    """The texts between a key and its value. Between two tags a line break may be missing."""
    if not name_end or not name_close:
        return [""]
    are_tags = all(text.startswith("<") and text.endswith(">") for text in (name_end, name_close))
    return ["\n"] if are_tags else ["\n", ""]


def _key(tags: Table, opener: str) -> str:
    return quoted(opener, "${key:xml}" if tags.get("name_entities") else "${key}")


def _options(tags: Table, options: list[str]) -> str:
    named = {"entities": "xml", "python_values": "python"}
    found = options + [option for key, option in named.items() if tags.get(key)]
    return ":" + ",".join(found) if found else ""


def _attributes(tags: Table, name_end: str) -> list[tuple[str, list[str]]]:
    """The possible texts between a name's end and the value, each with the options of the value."""
    guessed = ["json"] if tags.get("guess_types") else []
    types: dict[str, str] = tags.get("types", {})
    if not types:
        return [("", guessed)]
    found = _type_hole(types, name_end)
    if found:
        return [(found, guessed)]
    attributes = [
        (f" {text}", ["verbatim" if name == "string" else "json"])
        for text, name in types.items()
        if re.search(r'"[^"]*"$', text) and name in ("string", "json")
    ]
    return attributes if attributes and not guessed else [*attributes, ("", guessed)]


def _type_hole(types: dict[str, str], name_end: str) -> str:
    """`type="${type}"`, or the tag around it, if the attributes differ only in a type's name."""
    text, name = next(iter(types.items()))
    for word in sorted(_TYPE_NAMES, key=len, reverse=True):
        if word not in text or _TYPE_NAMES[word] != name:
            continue
        first, _, last = text.rpartition(word)
        if all(
            other.startswith(first) and other.endswith(last)
            and _TYPE_NAMES.get(other[len(first) : len(other) - len(last)]) == kind
            for other, kind in types.items()
        ):  # fmt: skip
            if not first.startswith("<"):
                return f" {first}${{type}}{last}"
            gap = "\n" if name_end else ""
            return f"{gap}{first}${{type}}{last}</{first[1:]}{gap}"
    return ""
