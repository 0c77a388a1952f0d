"""A marker's token directly after text that may begin a call without an opener."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import unspool
from unspool import Parser

from ..outputs import TOOLS
from .label_tokens import Tokens, cut

BEGINNINGS = ["[", "{", "[{", "The body is\n{", "```json\n[", "now", "get_weather", "[now"]


def _read(format: str, tokens: Tokens, size: int, **options: Any) -> unspool.Message:
    parser = Parser(format, TOOLS, tokenizer=tokens.vocabulary, id_seed=1, audit=True, **options)
    for begin in range(0, len(tokens.ids), size):
        parser.parse_chunk(tokens=tokens.ids[begin : begin + size])
        restored = Parser(format, TOOLS, tokenizer=tokens.vocabulary, id_seed=1, audit=True, **options)
        restored._restore_state(parser._state())
        parser = restored
    return parser.finish()


@pytest.mark.parametrize("unmarked", [False, True])
def test_no_byte_is_lost(format: str, unmarked: bool) -> None:
    markers = unspool.get_format(format).facts.marker_tokens or ["<x>"]
    for beginning, marker in itertools.product(BEGINNINGS, markers):
        text = beginning + marker
        tokens = cut(format, text)
        whole = _read(format, tokens, len(tokens.ids), unmarked_calls=unmarked)
        assert "".join(part for _, part in whole.audit).startswith(text), (text, whole.audit)
        split = _read(format, tokens, 1, unmarked_calls=unmarked)
        assert (split.content, split.tool_calls, split.malformed) == (
            whole.content,
            whole.tool_calls,
            whole.malformed,
        ), text
