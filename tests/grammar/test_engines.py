"""The other syntaxes: xgrammar compiles a structural tag, GBNF and the Lark text, and its walks are read too."""

from __future__ import annotations

import random
from typing import Any

import pytest
import unspool
from unspool.grammar.make_grammar import make_grammar
from unspool.testing.writer import write_answer

from .marker_tokenizer import marker_tokenizer
from .walks import faults, fragments_of, tools_for

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


@pytest.fixture(scope="module")
def compiler() -> Any:
    tokens = [bytes([byte]) for byte in range(256)] + [b"</s>"]
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256])
    return xgrammar.GrammarCompiler(info, max_threads=1)


def _compile(compiler: Any, syntax: str, text: str) -> Any:
    compilers = {
        "structural_tag": compiler.compile_structural_tag, "gbnf": compiler.compile_grammar,
        "lark": compiler.compile_lark,
    }  # fmt: skip
    return compilers[syntax](text)


def _walk(compiled: Any, fragments: list[bytes], rng: random.Random) -> bytes | None:
    matcher = xgrammar.GrammarMatcher(compiled, terminate_without_stop_token=False)
    mask = xgrammar.allocate_token_bitmask(1, 257)
    out = bytearray()
    while len(out) < 2500:
        is_late = len(out) > 80
        if matcher.is_completed() and rng.random() < 0.5:
            return bytes(out)
        matcher.fill_next_token_bitmask(mask)
        words = mask[0].tolist()
        allowed = [id for id in range(256) if words[id >> 5] >> (id & 31) & 1]
        if not allowed:
            return bytes(out) if matcher.is_completed() else None
        some = rng.sample(fragments, 4) if rng.random() < (0.5 if is_late else 0.2) else []
        ends = [id for id in allowed if id in b"\"'}])<,:\n"] if is_late else []
        text = next((text for text in some if text[0] in allowed), bytes([rng.choice(ends or allowed)]))
        for byte in text:
            if not matcher.accept_token(byte):
                break
            out.append(byte)
    return None


@pytest.mark.parametrize("syntax", ["structural_tag", "gbnf", "lark"])
@pytest.mark.parametrize("name", FORMATS)
def test_what_xgrammar_admits_is_read(name: str, syntax: str, compiler: Any) -> None:
    file = unspool.get_format(name)
    tools = tools_for(file)
    text = make_grammar(file, tools, tool_choice="required", syntax=syntax, reasoning=False).text  # type: ignore[arg-type]
    compiled = _compile(compiler, syntax, text)
    rng = random.Random(name)
    for written in (_walk(compiled, fragments_of(file, tools), rng) for _ in range(3)):
        if written is not None:
            assert faults(file, written, tools, True, start_in="content") == [], written


@pytest.mark.parametrize("syntax", ["structural_tag", "gbnf", "lark"])
@pytest.mark.parametrize("name", FORMATS)
def test_xgrammar_admits_what_the_template_writes(name: str, syntax: str, compiler: Any) -> None:
    file = unspool.get_format(name)
    grammar = make_grammar(file, tools_for(file), tool_choice="required", syntax=syntax, reasoning=False)  # type: ignore[arg-type]
    matcher = xgrammar.GrammarMatcher(_compile(compiler, syntax, grammar.text))
    written = write_answer(file, "", "", [CALL])
    written = written.removeprefix(write_answer(file, "", "", []))
    assert matcher.accept_string(written), written
    assert matcher.is_completed()


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
    written = write_answer(file, "", "", [CALL]).removeprefix(write_answer(file, "", "", []))
    ids = tokenizer.encode(written, add_special_tokens=False).ids
    assert next((ids[i:] for i, id in enumerate(ids) if not matcher.accept_token(id)), []) == []
    assert matcher.is_completed()
