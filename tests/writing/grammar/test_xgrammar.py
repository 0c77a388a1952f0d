"""The same laws in xgrammar, where it is installed: `json_grammar`'s structural tag, and its GBNF."""

from __future__ import annotations

import itertools
import json
import random
import re
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unspool.core.schema.schema_check import check
from unspool.writing.grammar.json_answer import json_grammar

from .schemas import Case, cases, spellings

xgrammar = pytest.importorskip("xgrammar")

END = 256


@cache
def compiler() -> Any:
    vocabulary = [*(f"<0x{byte:02X}>" for byte in range(END)), "<eos>"]
    info = xgrammar.TokenizerInfo(
        vocabulary, vocab_type=xgrammar.VocabType.BYTE_FALLBACK, vocab_size=END + 1, stop_token_ids=[END]
    )
    return xgrammar.GrammarCompiler(info, cache_enabled=False)


def compiled(schema: Any, syntax: Any) -> Any:
    text = json_grammar(schema, syntax=syntax).text
    return (
        compiler().compile_structural_tag(text)
        if syntax == "structural_tag"
        else compiler().compile_grammar(text)
    )


def walk(grammar: Any, seed: int, limit: int = 1500) -> bytes | None:
    matcher, rng, chosen = xgrammar.GrammarMatcher(grammar), random.Random(seed), bytearray()
    mask = xgrammar.allocate_token_bitmask(1, END + 1)
    for _ in range(limit):
        matcher.fill_next_token_bitmask(mask, 0)
        words = mask[0].tolist()
        allowed = [token for token in range(END + 1) if words[token >> 5] >> (token & 31) & 1]
        if END in allowed and (len(allowed) == 1 or rng.random() < 0.3):
            return bytes(chosen)
        allowed = [byte for byte in allowed if byte != END]
        closing = [byte for byte in allowed if byte in b'"]}' or (len(chosen) > 200 and byte in b"0,:tfn")]
        byte = rng.choice(closing if closing and rng.random() < 0.25 + len(chosen) / 400 else allowed)
        assert matcher.accept_token(byte)
        chosen.append(byte)
    return None


@pytest.mark.parametrize("syntax", ["structural_tag", "gbnf"])
@given(case=cases(), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_what_is_admitted_is_valid_and_what_is_valid_admitted(syntax: Any, case: Case, seed: int) -> None:
    grammar = compiled(case.schema, syntax)
    for text in spellings(case.value):
        matcher = xgrammar.GrammarMatcher(grammar, terminate_without_stop_token=True)
        assert matcher.accept_string(text), text
        assert matcher.is_completed()
    found = walk(grammar, seed)
    # xgrammar's strings admit bytes that are no UTF-8: surrogates, and characters in too many bytes.
    if found is not None and found.decode(errors="ignore").encode() == found:
        assert check(json.loads(found), case.schema) == [], found


@pytest.mark.parametrize("pattern", ["^a(x*b)?$", "^a(?:(?:x|b)*b)?c$", "^(x*)?a$", "^(a(x*b)?)*$"])
def test_an_optional_part_of_a_pattern_is_whole_or_missing(pattern: str) -> None:
    grammar = compiled({"type": "string", "pattern": pattern}, "structural_tag")
    for text in map(
        "".join, itertools.chain.from_iterable(itertools.product("abcx", repeat=size) for size in range(5))
    ):
        matcher = xgrammar.GrammarMatcher(grammar, terminate_without_stop_token=True)
        is_admitted = matcher.accept_string(json.dumps(text)) and matcher.is_completed()
        assert is_admitted == bool(re.search(pattern, text)), text
