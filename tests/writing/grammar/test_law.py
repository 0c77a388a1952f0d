"""What a grammar admits is parsed to complete, valid calls, at every split.

`python tests/writing/grammar/walk.py --walks 10000` is the long form.
"""

from __future__ import annotations

import random

import pytest
import unspool
from unspool.writing.grammar.make_grammar import make_grammar

from .law import faults, splits_differ
from .tools import fragments_of, tools_for
from .walks import Walker

FORMATS = [file.name for file in unspool.formats() if file.has_tools]


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("choice", ["required", "auto"])
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_admitted_is_read(name: str, choice: str) -> None:
    file = unspool.get_format(name)
    tools = tools_for(file)
    rng = random.Random(f"{name} {choice}")
    walker = Walker.of(make_grammar(file, tools, tool_choice=choice).text, fragments_of(file, tools), rng)
    texts = [text for text in (walker.walk(80) for _ in range(6)) if text is not None]
    assert texts, "no walk came to an end"
    for text in texts:
        assert faults(file, text, tools, choice != "auto") == [], text
        assert splits_differ(file, text, tools, rng, 1) is None


@pytest.mark.parametrize("name", FORMATS)
def test_a_named_tool_is_the_only_one_and_called_once(name: str) -> None:
    file = unspool.get_format(name)
    tools = tools_for(file)
    grammar = make_grammar(file, tools, tool_choice="now", parallel=False, reasoning=False)
    walker = Walker.of(grammar.text, fragments_of(file, tools), random.Random(name))
    start_in = "content" if file.has_reasoning else "auto"
    for text in (walker.walk(60) for _ in range(3)):
        assert text is not None
        message = unspool.parse(text, file, tools=tools, start_in=start_in)
        assert [(call.name, call.arguments.strip("{} \n\r\t")) for call in message.tool_calls] == [
            ("now", "")
        ]
