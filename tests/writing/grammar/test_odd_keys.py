"""A key of any spelling is written so that it is read again, or refused."""

from __future__ import annotations

import random
from typing import Any

import pytest
import unspool
from unspool.writing.grammar.make_grammar import make_grammar

from .law import faults
from .tools import fragments_of
from .walks import Walker

KEYS = [
    "", " ", " a", "a ", "a b", "a\n", "a:b", "a,b", "a=b", "a}", "]", "{", 'a"', "'q'", "a<b", "a>b", "</a", "a&lt;",
    "\\n", "$ref", "日本", "1", "true", "a/b~c", "-", "name", "arguments", "item",
]  # fmt: skip
FORMATS = [file for file in unspool.formats() if file.has_tools]


@pytest.mark.rest(but_one_in=8)
@pytest.mark.parametrize("nested", [False, True], ids=["parameter", "within a value"])
@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_a_key_is_read_again_or_refused(file: unspool.FormatFile, nested: bool) -> None:
    written, wrong = 0, []
    for key in [*KEYS, *(marker for marker in file.facts.markers[:3])]:
        inner: dict[str, Any] = {
            "type": "object",
            "properties": {key: {"type": "integer"}},
            "required": [key],
        }
        outer = {"type": "object", "properties": {"a": inner}, "required": ["a"]}
        tools = [{"name": "f", "parameters": outer if nested else inner}]
        try:
            text = make_grammar(file, tools, tool_choice="required", parallel=False, reasoning=False).text
        except unspool.ArgumentError:
            continue
        walker = Walker.of(text, fragments_of(file, tools), random.Random(key))
        start = "content" if file.has_reasoning else "auto"
        for found in (walker.walk(30) for _ in range(2)):
            if found is not None:
                written += 1
                wrong += [(key, found, fault) for fault in faults(file, found, tools, True, start_in=start)]
    assert not wrong, f"{len(wrong)} of {written}: {wrong[:5]}"
