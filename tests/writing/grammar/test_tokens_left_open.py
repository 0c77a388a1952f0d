"""Inside a string xgrammar knows almost every token from its tables: those left open are scanned at each step."""

from __future__ import annotations

import json
from typing import Any

import pytest
import unspool

xgrammar = pytest.importorskip("xgrammar")

FORMATS = [file for file in unspool.formats() if file.has_tools]
LIST: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
NESTED: dict[str, Any] = {"type": "object", "properties": {"b": LIST}, "required": ["b"]}
#: Of the vocabulary. An id or a skipped name of at most 40 letters leaves 18 to 21 % open, whatever the values are; an
#: expression that repeats a choice, 93 %.
MOST = 0.25


@pytest.fixture(scope="module")
def compiler(deepseek: Any) -> Any:
    """For a sample of a real vocabulary."""
    vocabulary = deepseek.vocabulary
    tokens = [vocabulary.token_bytes(id) for id in range(0, len(vocabulary), 16)]
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[0])
    return xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)


def left_open(compiled: Any) -> float:
    """The largest share of the vocabulary that the tables of a state within a text leave open."""
    whole = json.loads(compiled.serialize_json())
    rules = whole["grammar"]["rules"]
    counts = [
        len(table["uncertain_indices"])
        for place, table in whole["adaptive_token_mask_cache"]
        if rules[place[0]][0].startswith(("text", "string"))
    ]
    return max(counts, default=0) / compiled.tokenizer_info.vocab_size


@pytest.mark.rest(but_one_in=20)
@pytest.mark.parametrize("syntax", ["structural_tag", "gbnf"])
@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_few_tokens_are_left_open(file: unspool.FormatFile, syntax: Any, compiler: Any) -> None:
    for schema in (LIST, NESTED):
        parameters = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
        tools = [{"name": "f", "parameters": parameters}]
        text = file.grammar(tools, tool_choice="required", syntax=syntax, reasoning=False).text
        make = compiler.compile_structural_tag if syntax == "structural_tag" else compiler.compile_grammar
        assert left_open(make(text)) < MOST
