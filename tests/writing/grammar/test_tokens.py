"""The same law over the tokens of a real tokenizer: markers are tokens there, and text only spells them."""

from __future__ import annotations

import random
from typing import Any

import pytest
import unspool
from llguidance import LLTokenizer
from unspool.testing.marker_tokenizer import marker_tokenizer
from unspool.writing.grammar.make_grammar import make_grammar

from ...outputs import render
from .law import faults_of_ids
from .real_tokens import closers_of
from .test_cases_are_admitted import NEVER_AS_WRITTEN, repeats_the_turn
from .tools import tools_for
from .walks import TokenWalker

FORMATS = ["deepseek_v31", "qwen3_coder", "openai", "pythonic"]


@pytest.mark.parametrize("choice", ["required", "auto"])
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_admitted_is_read(name: str, choice: str, deepseek: Any) -> None:
    file = unspool.get_format(name)
    tools = tools_for(file)
    rng = random.Random(f"{name} {choice}")
    reasoning = None if choice == "auto" else False  # a walk seldom spells what ends it
    grammar = make_grammar(file, tools, tool_choice=choice, tokenizer=deepseek.tokenizer, reasoning=reasoning)
    assert "<[" in grammar.text or not name.startswith("deepseek")
    tokens = LLTokenizer(deepseek.tokenizer.to_str())
    walker = TokenWalker.of(tokens, grammar.text, closers_of(file, deepseek.tokenizer), rng)
    walks = [ids for ids in (walker.walk() for _ in range(5)) if ids is not None]
    assert walks, "no walk came to an end"
    for ids in walks:
        assert faults_of_ids(file, ids, tools, choice != "auto", deepseek.vocabulary) == [], deepseek.decode(
            ids, False
        )


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("choice", ["required", "auto", "auto with a response"])
@pytest.mark.parametrize("name", [file.name for file in unspool.formats() if file.has_tools])
def test_markers_that_are_tokens(name: str, choice: str) -> None:
    """Every format's grammar compiles where all its markers are tokens, and admits what its template writes."""
    file = unspool.get_format(name)
    tokenizer = marker_tokenizer(file)
    vocabulary = unspool.Vocabulary.from_tokenizer(tokenizer)
    tools = tools_for(file)
    schema = {"type": "object"} if choice.endswith("response") else None
    grammar = file.grammar(
        tools,
        tool_choice=choice.split(maxsplit=1)[0],
        reasoning=False,
        tokenizer=vocabulary,
        response_schema=schema,
    )
    matcher = unspool.GrammarMatcher(grammar, vocabulary, end_ids=[tokenizer.token_to_id("</stop>")])
    arguments = {"code": "1"} if tools[0]["name"] == "run" else {"city": "Paris", "unit": "C"}
    written = render(file, "", "", [(tools[0]["name"], arguments)])
    written = written.removeprefix(render(file, "", "", []))
    grammar = file.grammar(
        tools, tool_choice=choice.split(maxsplit=1)[0], reasoning=False, tokenizer=vocabulary, response_schema=schema,
        prompt="Hi" if repeats_the_turn(file, written) else None,
    )  # fmt: skip
    matcher = unspool.GrammarMatcher(grammar, vocabulary, end_ids=[tokenizer.token_to_id("</stop>")])
    if name in NEVER_AS_WRITTEN:
        return
    for id in tokenizer.encode(written, add_special_tokens=False).ids:
        matcher.take(id)
    assert matcher.is_accepting
