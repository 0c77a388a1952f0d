"""Finds arguments that are written one by one, with markup around each key and value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from unspool.formats.learning import holes
from unspool.formats.templates.probe import NUMBER, Call
from unspool.formats.templates.tagged_texts import repeats

__all__ = ["tagged", "with_types"]

_MARKUP = re.compile(r"[<>\[\]|\w]")
_PLAIN_OPTIONS = (holes.VALUE, holes.VALUE_JSON, holes.VALUE_PYTHON)


def tagged(text: str, call: Call, place: int) -> Iterator[tuple[int, str, str]]:
    """Yield the possible interpretations of parameters after the name at `place`.

    Each consists of the end of the last parameter, the pattern before the parameters with their hole, and a parameter.
    """
    places = _places(text, call, place + len(call.name))
    if places is None:
        return
    (key1, at1, end1), (_, at2, _), (last_key, _, end) = places[0], places[1], places[-1]
    middle = text[at1 + len(key1) : end1 - len(str(call.arguments[key1]))]
    before = text[place + len(call.name) : at1]
    between = text[end1:at2].replace(key1, holes.KEY)
    after = text[end:].replace(last_key, holes.KEY)
    for repeat in repeats(before, between, after):
        if holes.KEY in repeat.open or not _MARKUP.search(repeat.close):
            continue
        length = len(repeat.close.replace(holes.KEY, last_key))
        blank = repeat.separator if not repeat.separator.strip() else ""
        parameter = repeat.open + holes.KEY + middle + holes.VALUE + repeat.close + blank
        yield end + length, repeat.before + holes.PARAMETERS, parameter


def _places(text: str, call: Call, start: int) -> list[tuple[str, int, int]] | None:
    """Return each key in the order of the text, with its place and the end of its value."""
    places = []
    for key, value in call.arguments.items():
        at = text.find(key, start)
        value_at = text.find(str(value), at + len(key)) if at >= 0 else -1
        if value_at < 0:
            return None
        places.append((key, at, value_at + len(str(value))))
    places.sort(key=lambda item: item[1])
    in_order = all(left[2] <= right[1] for left, right in pairwise(places))
    return places if in_order else None


def with_types(parameter: str, typed: str) -> Iterator[tuple[str, ...]]:
    """Yield the parameter's alternatives; `typed` shows how a number and a text with markup are written."""
    opener, rest = parameter.split(holes.KEY, 1)
    middle, closer = rest.split(holes.VALUE, 1)
    number = _middle_of(typed, "zqkeyn", str(NUMBER))
    if number is not None and number != middle:
        yield from _by_type(opener, middle, number, closer)
    if "zqv&lt;a&amp;l" in typed:
        for option in (holes.VALUE_XML, holes.VALUE_XML_PYTHON):
            yield (parameter.replace(holes.VALUE, option),)
    wrapped = _wrapped(typed, middle, closer)
    if wrapped is not None:
        left, right = wrapped
        verbatim = opener + holes.KEY + middle + left + holes.VALUE_VERBATIM + right + closer
        for option in _PLAIN_OPTIONS:
            yield (verbatim, parameter.replace(holes.VALUE, option))
    for option in _PLAIN_OPTIONS:
        yield (parameter.replace(holes.VALUE, option),)


def _by_type(opener: str, text: str, number: str, closer: str) -> Iterator[tuple[str, ...]]:
    """Yield alternatives for a parameter whose markup contains the value's type."""
    for word in ("integer", "number", "int"):
        if text.replace("string", word) == number or text.replace("str", word) == number:
            name = "string" if text.replace("string", word) == number else "str"
            yield (opener + holes.KEY + text.replace(name, holes.TYPE) + holes.VALUE + closer,)
    as_text = opener + holes.KEY + text + holes.VALUE_VERBATIM + closer
    as_json = opener + holes.KEY + number + holes.VALUE_JSON + closer
    yield (as_text, as_json)


def _middle_of(text: str, key: str, value: str) -> str | None:
    end = text.rfind(value)
    at = text.rfind(key, 0, end)
    return text[at + len(key) : end] if end >= 0 and at >= 0 else None


def _wrapped(typed: str, middle: str, closer: str) -> tuple[str, str] | None:
    """Return the additional markup around a text that contains markup."""
    value = "zqv<a&l"
    found = _middle_of(typed, "zqkeya", value)
    if found is None or found == middle or not found.startswith(middle):
        return None
    after = typed[typed.rfind(value) + len(value) :]
    place = after.find(closer)
    return (found[len(middle) :], after[:place]) if place > 0 else None
