"""A listed text of any spelling is written so that it is read again, or refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import unspool
from unspool.writing.grammar.make_grammar import make_grammar

from .law import faults
from .tools import fragments_of
from .walks import Walker

TEXTS = [
    "", " ", " a", "a ", "a\n", "\na", "12", "true", "null", "{}", '"a"', "'a'", "a<b", "</a", "a&lt;b", "&", "\\n",
    "a, b", "a]", ")", "日本", "```",
]  # fmt: skip
FORMATS = [file for file in unspool.formats() if file.has_tools]


PLACES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "parameter": lambda listed: listed,
    "alternative": lambda listed: {"anyOf": [{"type": "number"}, listed]},
    "of two lists": lambda listed: {"anyOf": [{"enum": [*listed["enum"], 1]}, {"const": "other"}]},
    "beside an object": lambda listed: {"enum": [{"c": 1}, *listed["enum"]]},
    "within a value": lambda listed: {"type": "object", "properties": {"b": listed}, "required": ["b"]},
}


@pytest.mark.rest(but_one_in=20)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_a_listed_text_is_read_again_or_refused(file: unspool.FormatFile, place: str) -> None:
    written, wrong = 0, []
    for text in [*TEXTS, *(f"a{marker}" for marker in file.facts.markers[:3])]:
        value = PLACES[place]({"enum": [text]})
        outer = {"type": "object", "properties": {"a": value}, "required": ["a"]}
        tools = [{"name": "f", "parameters": outer}]
        try:
            grammar = make_grammar(file, tools, tool_choice="required", parallel=False, reasoning=False).text
        except unspool.ArgumentError:
            continue
        walker = Walker.of(grammar, fragments_of(file, tools), random.Random(text))
        start = "content" if file.has_reasoning else "auto"
        for found in (walker.walk(30) for _ in range(2)):
            if found is not None:
                written += 1
                wrong += [(text, found, fault) for fault in faults(file, found, tools, True, start_in=start)]
    assert not wrong, f"{len(wrong)} of {written}: {wrong[:5]}"
