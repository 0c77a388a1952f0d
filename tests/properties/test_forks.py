"""A fork at any byte and at any token equals a fresh run: in deltas, ids, message, audit and labels.

So does a stream whose last tokens were taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from unspool import Delta, Parser
from unspool.testing import Case, shipped_cases

from ..forks import ForkLaw, RollbackLaw
from .conftest import DISTINCT
from .label_tokens import cut, stream

pytestmark = pytest.mark.filterwarnings("ignore:the content has")

#: Options that put every filter around the parser.
FILTERS: dict[str, Any] = {
    "white_space": "trim",
    "repair": True,
    "parallel_tool_calls": False,
    "unknown_tools": "content",
    "incomplete_calls": "withhold",
    "stop": ["Paris.", "\n\n\n"],
}


def put_bytes(parser: Parser, chunk: bytes) -> list[Delta]:
    return parser.parse_chunk(chunk)


def put_ids(parser: Parser, ids: Sequence[int]) -> list[Delta]:
    return parser.put(list(ids))


def tools_of(case: Case) -> list[Any] | None:
    return None if case.tools is None else list(case.tools)


def pairs(format: str) -> list[tuple[Case, str]]:
    """Each case, with the end of another one's output."""
    cases = shipped_cases(format)
    ends = [case.input[len(case.input) // 3 :] for case in cases]
    return [(case, ends[(number + 1) % len(cases)]) for number, case in enumerate(cases)]


def law_of_bytes(case: Case, other: str, **options: Any) -> ForkLaw:
    given = {"id_seed": 5, "audit": True, **case.options, **options}
    return ForkLaw(
        lambda: Parser(case.format, tools_of(case), **given),
        put_bytes, case.input.encode(), other.encode(), case.finish_reason,
    )  # fmt: skip


def law_of_ids(case: Case, other: str, **options: Any) -> ForkLaw:
    tokens = cut(case.format, case.input + other)
    size = len(cut(case.format, case.input).ids) - 1  # without the end
    return ForkLaw(
        lambda: stream(tokens, case, **options),
        put_ids, tokens.ids[:size], tokens.ids[size:], case.finish_reason,
    )  # fmt: skip


def places(format: str, size: int, number: int, thorough: bool) -> range:
    """Every place; of formats that are like another one, every fifth."""
    return range(size + 1) if thorough or format in DISTINCT else range(number % 5, size + 1, 5)


def test_at_every_byte(format: str, thorough: bool) -> None:
    for number, (case, other) in enumerate(pairs(format)):
        law = law_of_bytes(case, other)
        law.check(places(format, len(law.output), number, thorough))


def test_at_every_token(format: str, thorough: bool) -> None:
    for number, (case, other) in enumerate(pairs(format)):
        if "only_reasoning" in case.options:
            continue
        law = law_of_ids(case, other)
        law.check(places(format, len(law.output), number, thorough))


def test_with_every_filter(format: str) -> None:
    for number, (case, other) in enumerate(pairs(format)):
        options = {name: value for name, value in FILTERS.items() if name not in case.options}
        law = law_of_bytes(case, other, **options)
        law.check(range(number % 7, len(law.output), 7))


def law_of_rollbacks(case: Case, other: str, counts: Sequence[int], **options: Any) -> RollbackLaw:
    tokens = cut(case.format, case.input + other)
    size = len(cut(case.format, case.input).ids) - 1
    return RollbackLaw(
        lambda: stream(tokens, case, rollback_window=max(counts), **options),
        counts, tokens.ids[:size], tokens.ids[size:], case.finish_reason,
    )  # fmt: skip


def test_rollbacks(format: str, thorough: bool) -> None:
    for number, (case, other) in enumerate(pairs(format)):
        if "only_reasoning" in case.options:
            continue
        records = {"labels": number % 2 == 0, "audit": number % 3 == 0, "keep_message": number % 5 > 0}
        law = law_of_rollbacks(case, other, (1, 3, 8), **records)
        law.check((1, 2, 5) if thorough or format in DISTINCT else (7, 4))


def test_rollbacks_with_every_filter(format: str) -> None:
    for number, (case, other) in enumerate(pairs(format)):
        if "only_reasoning" in case.options:
            continue
        options = {name: value for name, value in FILTERS.items() if name not in case.options}
        law = law_of_rollbacks(case, other, (1 + number % 5,), **options)
        law.check((3, 1, 11))
