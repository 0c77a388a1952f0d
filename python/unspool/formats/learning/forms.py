"""Finds a call's name and arguments in a text, in each known notation, and replaces them with holes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from unspool.formats.learning import holes
from unspool.formats.learning.parameters import tagged
from unspool.formats.templates.probe import Call

__all__ = ["Core", "cores"]


@dataclass(frozen=True)
class Core:
    """One call's name and arguments in a rendered text.

    Attributes:
        begin, end: Their place in the text.
        pattern: The text with holes.
        keys: Further keys that the format needs, such as `parameter`.
    """

    begin: int
    end: int
    pattern: str
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)


def cores(text: str, call: Call, index: int, start: int) -> Iterator[Core]:
    """Yield the possible interpretations of a call in the text from `start` on, the most certain first."""
    yield from _objects(text, call, index, start)
    first = _first_value(text, call, start)
    place = text.rfind(call.name, start, first)
    if place < 0:
        return
    yield from _python_calls(text, call, place)
    yield from _json_arguments(text, call, place)
    yield from _bare_keys(text, call, place)
    for end, pattern, parameter in tagged(text, call, place):
        yield Core(place, end, holes.NAME + pattern, {"parameter": (parameter,)})


def _first_value(text: str, call: Call, start: int) -> int:
    places = [text.find(str(value), start) for value in call.arguments.values()]
    return min((place for place in places if place >= 0), default=len(text))


def _objects(text: str, call: Call, index: int, start: int) -> Iterator[Core]:
    """Find a JSON object with the name and the arguments."""
    for match in re.finditer(r"\{", text[start:]):
        begin = start + match.start()
        decoded = _decode(text, begin)
        if decoded is None:
            continue
        value, end = decoded
        pattern = _object_pattern(value, call, index)
        if holes.NAME not in pattern or holes.ARGUMENTS not in pattern:
            continue
        default = f'{{"name": {holes.NAME}, "arguments": {holes.ARGUMENTS}}}'
        keys: dict[str, tuple[str, ...]] = {} if pattern == default else {"object": (pattern,)}
        yield Core(begin, end, holes.OBJECT, keys)
        return


def _decode(text: str, begin: int) -> tuple[Any, int] | None:
    try:
        found: tuple[Any, int] = json.JSONDecoder().raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None
    return found


def _object_pattern(value: Any, call: Call, index: int, key: str = "") -> str:
    """Return the key's value as JSON, with holes for the call's values."""
    if value == call.arguments:
        return holes.ARGUMENTS
    if value == call.name:
        return holes.NAME
    if isinstance(value, dict):
        keys = {key: holes.NAME if key == call.name else json.dumps(key, ensure_ascii=False) for key in value}
        items = (f"{keys[key]}: {_object_pattern(item, call, index, key)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, str) and (holes.ID in value or ("id" in key and value == str(index))):
        return holes.ID
    return json.dumps(value, ensure_ascii=False)


def _python_calls(text: str, call: Call, place: int) -> Iterator[Core]:
    """Find `f(a='x', b='y')`."""
    quote = r"(?P<quote>['\"])"
    names = list(call.arguments)
    head = re.compile(
        re.escape(f"{call.name}({names[0]}=")
        + quote
        + re.escape(str(call.arguments[names[0]]))
        + "(?P=quote)"
    )
    first = head.match(text, place)
    if first is None:
        return
    separator = text[first.end() : text.find(names[1], first.end())]
    mark = first["quote"]
    written = separator.join(f"{key}={mark}{value}{mark}" for key, value in call.arguments.items())
    whole = f"{call.name}({written})"
    if text.startswith(whole, place):
        pattern = f"{holes.NAME}({holes.KEY}={holes.VALUE}{separator}{holes.MORE})"
        yield Core(place, place + len(whole), pattern)


def _json_arguments(text: str, call: Call, place: int) -> Iterator[Core]:
    """Find the name and then the arguments as one JSON object."""
    begin = text.find("{", place)
    found = _decode(text, begin) if begin >= 0 else None
    if found is not None and found[0] == call.arguments:
        pattern = holes.NAME + text[place + len(call.name) : begin] + holes.ARGUMENTS
        yield Core(place, found[1], pattern)


def _bare_keys(text: str, call: Call, place: int) -> Iterator[Core]:
    """Find the name and then `{a:<q>x<q>,b:<q>y<q>}`."""
    begin = text.find("{", place)
    names = list(call.arguments)
    if begin < 0 or not text.startswith(names[0], begin + 1):
        return
    value = str(call.arguments[names[0]])
    colon = begin + 1 + len(names[0])
    at = text.find(value, colon)
    following = text.find(names[1], at)
    if at < 0 or following < 0:
        return
    left = text[colon:at]
    right, separator = text[at + len(value) : following - 1], text[following - 1]
    written = separator.join(f"{key}{left}{item}{right}" for key, item in call.arguments.items())
    if left[:1] == ":" and text.startswith("{" + written + "}", begin):
        pattern = holes.NAME + text[place + len(call.name) : begin] + holes.ARGUMENTS
        string = left[1:] + holes.VALUE + right
        yield Core(place, begin + len(written) + 2, pattern, {"string": (string,)})
