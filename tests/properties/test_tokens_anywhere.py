"""By ids, a marker's token where none is expected: no byte is lost, and no split matters."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
import unspool
from unspool import Parser
from unspool.testing import shipped_cases

from ..outputs import TOOLS
from .label_tokens import Tokens, cut

# Each may begin a call without an opener.
BEGINNINGS = ["[", "{", "[{", "The body is\n{", "```json\n[", "now", "get_weather", "[now"]


def _read(format: str, tokens: Tokens, size: int, **options: Any) -> unspool.Message:
    parser = Parser(format, TOOLS, tokenizer=tokens.vocabulary, id_seed=1, audit=True, **options)
    for begin in range(0, len(tokens.ids), size):
        parser.parse_chunk(tokens=tokens.ids[begin : begin + size])
        restored = Parser(format, TOOLS, tokenizer=tokens.vocabulary, id_seed=1, audit=True, **options)
        restored._restore_state(parser._state())
        parser = restored
    return parser.finish()


def check(format: str, text: str, **options: Any) -> None:
    tokens = cut(format, text)
    whole = _read(format, tokens, len(tokens.ids), **options)
    assert "".join(part for _, part in whole.audit).startswith(text), (text, whole.audit)
    split = _read(format, tokens, 1, **options)
    assert (split.content, split.tool_calls, split.malformed) == (
        whole.content,
        whole.tool_calls,
        whole.malformed,
    ), text


@pytest.mark.parametrize("unmarked", [False, True])
def test_after_a_beginning(format: str, unmarked: bool) -> None:
    markers = unspool.get_format(format).facts.marker_tokens or ["<x>"]
    for beginning, marker in itertools.product(BEGINNINGS, markers):
        check(format, beginning + marker, unmarked_calls=unmarked)


@pytest.mark.parametrize("inserted", ['"', '{"', "<", "x"])
def test_amid_a_call(format: str, inserted: str) -> None:
    markers = unspool.get_format(format).facts.marker_tokens
    pattern = "|".join(re.escape(marker) for marker in markers) or "<x>"
    for case in shipped_cases(format)[:5]:
        for match in re.finditer(pattern, case.input):
            check(format, case.input[: match.start()] + inserted + case.input[match.start() :])
