"""The same law over the tokens of a real tokenizer: markers are tokens there, and text only spells them."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema
import pytest
import unspool
from llguidance import LLMatcher, LLTokenizer
from unspool.generation.grammar_matcher import GrammarMatcher
from unspool.grammar.make_grammar import make_grammar
from unspool.testing.writer import write_answer

from .marker_tokenizer import marker_tokenizer
from .test_cases_are_admitted import NEVER_AS_WRITTEN, repeats_the_turn
from .walks import TOOLS, tools_for

FORMATS = ["deepseek_v31", "qwen3_coder", "openai", "pythonic"]


@pytest.fixture(scope="module")
def matcher_tokens(deepseek: Any) -> LLTokenizer:
    return LLTokenizer(deepseek.tokenizer.to_str())


def _walk(
    tokens: LLTokenizer, text: str, ends: list[int], closers: list[int], rng: random.Random
) -> list[int] | None:
    matcher = LLMatcher(tokens, text)
    assert not matcher.is_error(), matcher.get_error()
    out: list[int] = []
    while len(out) < 400:
        if matcher.is_stopped() or (matcher.is_accepting() and rng.random() < 0.3):
            return out
        bias = matcher.compute_logit_bias()
        ids = rng.sample(ends, len(ends)) if len(out) > 40 or rng.random() < 0.3 else []
        if len(out) > 80 and rng.random() < 0.7:
            ids = [*closers, *ids]
        allowed = next((id for id in ids if bias[id]), None)
        if allowed is None:
            found = [id for id in rng.sample(range(len(bias)), 3000) if bias[id]] or [
                id for id, value in enumerate(bias) if value
            ]
            allowed = rng.choice(found)
        if not matcher.consume_token(allowed):
            raise AssertionError(matcher.get_error())
        out.append(allowed)
    return None


@pytest.mark.parametrize("choice", ["required", "auto"])
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_admitted_is_read(name: str, choice: str, deepseek: Any, matcher_tokens: LLTokenizer) -> None:
    file = unspool.get_format(name)
    tools = tools_for(file)
    rng = random.Random(f"{name} {choice}")
    reasoning = None if choice == "auto" else False  # a walk seldom spells what ends it
    grammar = make_grammar(file, tools, tool_choice=choice, tokenizer=deepseek.tokenizer, reasoning=reasoning)
    assert "<[" in grammar.text or not name.startswith("deepseek")
    words = [*file.facts.markers, '"', "}", "]", ")", '"}', '"}}', "</", ">", "1", ",", ":", "now", " "]
    ends = sorted({id for word in words for id in deepseek.encode(word)})
    closers = [id for word in ("}", "]", ")", '"', "'") for id in deepseek.encode(word)]
    done = 0
    for _ in range(5):
        ids = _walk(matcher_tokens, grammar.text, ends, closers, rng)
        if ids is None:
            continue
        done += 1
        for size in (1, 5, len(ids) or 1):
            _check(file, ids, size, tools, choice != "auto", deepseek)
    assert done > 0


def _check(
    file: unspool.FormatFile, ids: list[int], size: int, tools: list[dict[str, Any]], must_call: bool,
    tokenizer: Any,
) -> None:  # fmt: skip
    parser = unspool.Parser(file, tools=tools, tokenizer=tokenizer.tokenizer)
    for begin in range(0, len(ids), size):
        parser.parse_chunk(tokens=ids[begin : begin + size])
    message = parser.finish("stop")
    written = tokenizer.decode(ids, False)
    assert not message.malformed, written
    if must_call:
        assert message.tool_calls, written
        assert not message.content.strip(), written
    for call in message.tool_calls:
        schema = next(tool["parameters"] for tool in TOOLS if tool["name"] == call.name)
        assert call.status == "complete", written
        jsonschema.validate(json.loads(call.arguments), schema)


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
    matcher = GrammarMatcher(vocabulary, grammar.text, [tokenizer.token_to_id("</stop>")])
    arguments = {"code": "1"} if tools[0]["name"] == "run" else {"city": "Paris", "unit": "C"}
    written = write_answer(file, "", "", [(tools[0]["name"], arguments)])
    written = written.removeprefix(write_answer(file, "", "", []))
    grammar = file.grammar(
        tools, tool_choice=choice.split(maxsplit=1)[0], reasoning=False, tokenizer=vocabulary, response_schema=schema,
        prompt="Hi" if repeats_the_turn(file, written) else None,
    )  # fmt: skip
    matcher = GrammarMatcher(vocabulary, grammar.text, [tokenizer.token_to_id("</stop>")])
    if name in NEVER_AS_WRITTEN:
        return
    for id in tokenizer.encode(written, add_special_tokens=False).ids:
        matcher.take(id)
    assert matcher.is_accepting
