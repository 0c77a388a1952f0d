"""The other syntaxes: xgrammar compiles a structural tag, GBNF and the Lark text, and its walks are read too."""

from __future__ import annotations

import random

import pytest
import unspool
from unspool.testing.marker_tokenizer import marker_tokenizer
from unspool.writing.grammar.make_grammar import make_grammar

from ...outputs import render
from .law import faults
from .matchers import XgrammarMatcher
from .tools import fragments_of, tools_for
from .walks import Walker

xgrammar = pytest.importorskip("xgrammar")

FORMATS = [
    "hermes",
    "mistral",
    "qwen3_coder",
    "deepseek_v32",
    "glm45",
    "kimi_k2",
    "openai",
    "gemma4",
    "pythonic",
    "minimax_m3",
]
CALL = ("get_weather", {"city": "Paris", "days": 3, "unit": "C"})


@pytest.mark.parametrize("syntax", ["structural_tag", "gbnf", "lark"])
@pytest.mark.parametrize("name", FORMATS)
def test_what_xgrammar_admits_is_read(name: str, syntax: str, capfd: pytest.CaptureFixture[str]) -> None:
    file = unspool.get_format(name)
    tools = tools_for(file)
    text = make_grammar(file, tools, tool_choice="required", syntax=syntax, reasoning=False).text  # type: ignore[arg-type]
    walker = Walker(XgrammarMatcher(text, syntax), fragments_of(file, tools), random.Random(name))
    texts = [text for text in (walker.walk(80) for _ in range(3)) if text is not None]
    assert texts, "no walk came to an end"
    assert "Warning" not in capfd.readouterr().err
    for written in texts:
        assert faults(file, written, tools, True, start_in="content") == [], written


@pytest.mark.parametrize("syntax", ["structural_tag", "gbnf", "lark"])
@pytest.mark.parametrize("name", FORMATS)
def test_xgrammar_admits_what_the_template_writes(name: str, syntax: str) -> None:
    file = unspool.get_format(name)
    grammar = make_grammar(file, tools_for(file), tool_choice="required", syntax=syntax, reasoning=False)  # type: ignore[arg-type]
    matcher = XgrammarMatcher(grammar.text, syntax)
    written = render(file, "", "", [CALL])
    written = written.removeprefix(render(file, "", "", []))
    matcher.take(written.encode())
    assert matcher.may_end()


@pytest.mark.parametrize("choice", ["required", "auto"])
@pytest.mark.parametrize("name", [*FORMATS, "kimi_k3"])
def test_xgrammar_admits_what_the_template_writes_in_tokens(name: str, choice: str) -> None:
    """What text may spell, xgrammar takes for text, also if it is a token and the grammar has one there."""
    file = unspool.get_format(name)
    tokenizer = marker_tokenizer(file)
    vocabulary = unspool.Vocabulary.from_tokenizer(tokenizer)
    spelled = [vocabulary.token_bytes(id) for id in range(tokenizer.get_vocab_size())]
    info = xgrammar.TokenizerInfo(
        spelled, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[len(spelled) - 1]
    )
    grammar = make_grammar(
        file, tools_for(file), tool_choice=choice, syntax="structural_tag", reasoning=False,
        tokenizer=vocabulary,
    )  # fmt: skip
    compiled = xgrammar.GrammarCompiler(info, max_threads=1).compile_structural_tag(grammar.text)
    matcher = xgrammar.GrammarMatcher(compiled)
    written = render(file, "", "", [CALL]).removeprefix(render(file, "", "", []))
    ids = tokenizer.encode(written, add_special_tokens=False).ids
    assert next((ids[i:] for i, id in enumerate(ids) if not matcher.accept_token(id)), []) == []
    assert matcher.is_completed()
