"""Every case at every split, by text; and by token ids, where the real tokenizer's are at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool.testing import Case, assert_format, example_cases, load_cases, pieces_of

FILES = sorted((Path(__file__).parents[1] / "formats").glob("*.toml"))
CASES = [case for file in FILES for case in load_cases(file)]


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_case_at_every_split(case: Case) -> None:
    assert_format(case.format, case)


@pytest.mark.parametrize("format", sorted({case.format for case in CASES}))
def test_cases_by_token_ids(format: str, deepseek: Any) -> None:
    """The same answer from ids of a tokenizer that has none of the markers as tokens."""
    failures = []
    for case in CASES:
        if case.format == format and "prompt" not in case.options:
            try:
                check_by_token_ids(case, deepseek)
            except Exception as error:
                failures.append(f"{case}: {error!r}")
    assert not failures, "\n".join(failures)


def check_by_token_ids(case: Case, deepseek: Any) -> None:
    ids = deepseek.encode(case.input)
    if deepseek.decode(ids, True) != case.input:
        return  # the input spells special tokens of this vocabulary; that is another test's matter
    for pieces in ([ids], [[id] for id in ids], pieces_of(ids, range(0, len(ids), 3))):
        tools = None if case.tools is None else list(case.tools)
        parser = unspool.Parser(case.format, tools, **case.options, tokenizer=deepseek.vocabulary)
        deltas = [d for piece in pieces for d in parser.parse_chunk(tokens=piece)]
        message = parser.finish(case.finish_reason)
        # A marker that is a token and belongs to nothing is dropped; spelled, it is text.
        strays = [item for item in message.malformed if item.index is None and not item.in_content]
        found = case.differences(message)
        assert not found or strays, f"{case}: {found}"
        spans = [delta.token_span for delta in [*deltas, *message.deltas]]
        places = [0, *(end for _, end in spans)]
        assert [begin for begin, _ in spans] == places[:-1], "spans abut"
        assert places[-1] == len(ids)
        made = [id for delta in [*deltas, *message.deltas] for id in delta.token_ids]
        assert made == ids
        assert message.token_counts.total == len(ids)


@pytest.mark.parametrize("file", unspool.formats(), ids=lambda file: file.name)
def test_every_format_has_cases_and_its_examples_parse(file: unspool.FormatFile) -> None:
    assert len([case for case in CASES if case.format == file.name]) >= 8
    assert file.examples
    for case in example_cases(file):
        assert_format(file, case)
