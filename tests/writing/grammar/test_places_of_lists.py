"""A list whose places have schemas of their own is written so that each item is read by its own."""

from __future__ import annotations

import random

import pytest
import unspool
from unspool.writing.grammar.make_grammar import make_grammar

from .law import faults
from .tools import fragments_of
from .walks import Walker

FORMATS = [file for file in unspool.formats() if file.has_tools]
PLACES = {"type": "array", "prefixItems": [{"enum": [7, False]}], "items": {"type": "string"}, "minItems": 2}


@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_places_have_their_own_types(file: unspool.FormatFile) -> None:
    parameters = {"type": "object", "properties": {"a": PLACES}, "required": ["a"]}
    tools = [{"name": "f", "parameters": parameters}]
    grammar = make_grammar(file, tools, tool_choice="required", parallel=False, reasoning=False)
    walker = Walker.of(grammar.text, fragments_of(file, tools), random.Random(1))
    start = "content" if file.has_reasoning else "auto"
    texts = [text for text in (walker.walk(60) for _ in range(4)) if text is not None]
    assert texts, "no walk came to an end"
    wrong = [fault for text in texts for fault in faults(file, text, tools, True, start_in=start)]
    assert not wrong
