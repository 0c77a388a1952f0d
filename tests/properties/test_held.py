"""What is held is the end of the input that no delta has emitted, however it came."""

from __future__ import annotations

from typing import Any

import pytest
from unspool import Parser
from unspool.testing.cases import Case, shipped_cases
from unspool.testing.splits import byte_splits

_MOST_BYTES = 400  # of a case, where every split is tried


def _parser(case: Case) -> Parser:
    return Parser(case.format, case.tools, **{**case.options, "audit": True})


def test_held_is_the_input_without_what_was_emitted(format: str) -> None:
    for case in shipped_cases(format):
        whole = case.input.encode()
        parser = _parser(case)
        for end in range(1, len(whole) + 1):
            parser.parse_chunk(whole[end - 1 : end])
            text, reason = parser.held
            assert len(text) == parser.held_bytes
            assert (text == b"") == (reason == "none")
            told = sum(len(told.encode()) for _, told in parser._audit())
            if parser.region != "tool_call":
                assert text == whole[told:end], (case.name, whole[:end])
            elif reason not in ("value", "space") and not case.options.get("repair"):  # held as JSON
                assert whole[:end].endswith(text), (case.name, whole[:end])
        parser.finish(case.finish_reason)
        assert parser.held == (b"", "none")


def test_held_does_not_depend_on_the_split(format: str) -> None:
    for case in shipped_cases(format):
        whole = case.input.encode()
        if len(whole) > _MOST_BYTES:
            continue
        letters = _parser(case)
        expected = []
        for end in range(len(whole)):
            letters.parse_chunk(whole[end : end + 1])
            expected.append((letters.held, letters.held_markers))
        for pieces in byte_splits(whole):
            if len(pieces) != 2:
                continue
            parser = _parser(case)
            parser.parse_chunk(pieces[0])
            assert (parser.held, parser.held_markers) == expected[len(pieces[0]) - 1], (case.name, pieces[0])
            assert len(parser.held[0]) == parser.held_bytes


@pytest.mark.parametrize(
    ("format", "text", "held", "reason", "markers"),
    [
        ("hermes", "ok <tool", "<tool", "marker", ["<tool_call>"]),
        ("hermes", "ok", "", "none", []),
        ("hermes", '<tool_call>{"name": "now', '<tool_call>{"name": "now', "name", []),
        ("hermes", '<tool_call>{"name": "now", "arguments": {"a": "b', "", "none", []),
        ("llama3_json", '{"name": "now"', '{"name": "now"', "call", []),
        ("qwen3_coder", "<tool_call>\n<function=f>\n<parameter=days", "days", "key", []),
        ("qwen3_coder", "<tool_call>\n<function=f>\n<parameter=days>\n12", "12", "value", []),
        ("openai", "<|channel|>analysis", "<|channel|>analysis", "header", []),
        ("pythonic", "[f(days=12", "12", "value", []),
        ("pythonic", "[f(days=[1,", ",", "separator", []),
    ],
)
def test_held_says_why(format: str, text: str, held: str, reason: str, markers: list[str]) -> None:
    tool = {"name": "f", "parameters": {"properties": {"days": {"type": ["integer", "array"]}}}}
    parser = Parser(format, [tool, {"name": "now"}])
    parser.parse_chunk(text)
    assert parser.held == (held.encode(), reason)
    assert parser.held_markers == markers


def test_an_unfinished_character_is_the_reason_where_nothing_else_waits() -> None:
    parser = Parser("hermes")
    parser.parse_chunk("🎉".encode()[:3])
    assert parser.held == ("🎉".encode()[:3], "character")
    parser = Parser("hermes")
    parser.parse_chunk(b'<tool_call>{"name": "' + "é".encode()[:1])
    assert parser.held == (b'<tool_call>{"name": "\xc3', "name")


def test_text_waits_for_its_ids(deepseek: Any) -> None:
    parser = Parser("deepseek_r1", tokenizer=deepseek.tokenizer)
    special = deepseek.tokenizer.token_to_id("<｜end▁of▁sentence｜>")
    parser.parse_chunk("<｜end", [special])
    assert parser.held == ("<｜end".encode(), "ids")
