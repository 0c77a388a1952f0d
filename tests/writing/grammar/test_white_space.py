"""White space in values: bounded, compact, or without a limit; what is admitted is read in each case."""

from __future__ import annotations

import random
from typing import Any

import pytest
import unspool
from unspool.writing.grammar.json_answer import json_grammar

from .byte_walks import admits
from .law import faults
from .tools import fragments_of, tools_for
from .walks import Walker

SCHEMA = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}
SPELLED = {
    "compact": ['{"a":[1,2]}', '{"a": [1, 2]}'],
    "bounded": ['{\n  "a": [ 1 ]\n}', '{"a"' + " " * 8 + ":[]}"],
    "any": ['{\t"a":[]}', "{" + " " * 100 + "}"],
}


@pytest.mark.parametrize("white_space", SPELLED)
def test_each_admits_more(white_space: Any) -> None:
    text = json_grammar(SCHEMA, white_space=white_space).text
    known = list(SPELLED)
    for other, values in SPELLED.items():
        is_admitted = known.index(other) <= known.index(white_space)
        assert [value for value in values if admits(text, value) != is_admitted] == []


@pytest.mark.parametrize("white_space", ["compact", "any"])
@pytest.mark.parametrize(
    "name", ["hermes", "qwen3_coder", "glm47", "gemma4", "pythonic", "sarashina", "kimi_k3", "minimax_m3"]
)
def test_what_is_admitted_is_read(name: str, white_space: Any) -> None:
    file = unspool.get_format(name)
    tools = tools_for(file)
    text = file.grammar(tools, tool_choice="required", reasoning=False, white_space=white_space).text
    walker = Walker.of(text, fragments_of(file, tools), random.Random(name))
    start = "content" if file.has_reasoning else "auto"
    texts = [found for found in (walker.walk() for _ in range(8)) if found is not None]
    assert texts, "no walk came to an end"
    for found in texts:
        assert faults(file, found, tools, True, start_in=start) == [], found


def test_another_word_is_refused() -> None:
    for make in (
        json_grammar,
        lambda _, **options: unspool.get_format("hermes").grammar([{"name": "f"}], **options),
    ):
        with pytest.raises(unspool.ArgumentError, match="white_space is 'none'; use one of 'compact'"):
            make(SCHEMA, white_space="none")
