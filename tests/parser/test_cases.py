"""Every case at every split, by text; and by token ids, where the real tokenizer's are at hand."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool.testing import Case, byte_splits, load_cases, pieces_of

FILES = sorted((Path(__file__).parents[1] / "formats").glob("*.toml"))
CASES = [case for file in FILES for case in load_cases(file)]


def parser_for(case: Case, **more: Any) -> unspool.Parser:
    tools = None if case.tools is None else list(case.tools)
    return unspool.Parser(case.format, tools, **{**case.options, **more})


def check(case: Case, pieces: list[Any], **more: Any) -> None:
    parser = parser_for(case, **more)
    deltas = [delta for piece in pieces for delta in parser.parse_chunk(piece)]
    message = parser.finish(case.finish_reason)
    assert not (found := case.differences(message)), f"{case} cut into {pieces}: {found}"
    assert accumulate([*deltas, *message.deltas]) == (
        message.content,
        message.reasoning,
        calls_of(message),
    )


def calls_of(message: unspool.Message) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in message.tool_calls]


def accumulate(deltas: list[unspool.Delta]) -> tuple[str, str, list[tuple[str, str, str]]]:
    """What a client of the API puts together, strictly."""
    content, reasoning, calls = "", "", []
    for delta in deltas:
        wire = delta.to_openai()
        assert len(wire) <= 1
        content += wire.get("content", "")
        reasoning += wire.get("reasoning_content", "")
        for entry in wire.get("tool_calls", []):
            function = entry["function"]
            if "id" in entry:
                assert entry["index"] == len(calls), "indices are dense, calls one after the other"
                assert entry["type"] == "function"
                assert function["arguments"] == ""
                calls.append([entry["id"], function["name"], ""])
            else:
                assert set(entry) == {"index", "function"}
                assert set(function) == {"arguments"}
                assert entry["index"] == len(calls) - 1, "only the last call grows"
                assert function["arguments"]
                calls[-1][2] += function["arguments"]
    return content, reasoning, [tuple(call) for call in calls]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case_at_every_split(case: Case) -> None:
    data = case.input.encode()
    for pieces in byte_splits(data):
        check(case, pieces)
    rng = random.Random(str(case))
    for _ in range(50):
        cuts = [rng.randrange(len(data) + 1) for _ in range(rng.randint(2, 8))]
        check(case, pieces_of(data, cuts))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case_as_text_of_characters(case: Case) -> None:
    check(case, list(case.input))


@pytest.mark.parametrize("case", [case for case in CASES if "prompt" not in case.options], ids=str)
def test_case_by_token_ids(case: Case, deepseek: Any) -> None:
    """The same answer from ids of a tokenizer that has none of the markers as tokens."""
    ids = deepseek.encode(case.input)
    if deepseek.decode(ids, True) != case.input:
        return  # the input spells special tokens of this vocabulary; that is another test's matter
    for pieces in ([ids], [[id] for id in ids], pieces_of(ids, range(0, len(ids), 3))):
        parser = parser_for(case, tokenizer=deepseek.vocabulary)
        deltas = [d for piece in pieces for d in parser.parse_chunk(tokens=piece)]
        message = parser.finish(case.finish_reason)
        assert not (found := case.differences(message)), f"{case}: {found}"
        spans = [delta.token_span for delta in [*deltas, *message.deltas]]
        places = [0, *(end for _, end in spans)]
        assert [begin for begin, _ in spans] == places[:-1], "spans abut"
        assert places[-1] == len(ids)
        made = [id for delta in [*deltas, *message.deltas] for id in delta.token_ids]
        assert made == ids
        assert message.token_counts.total == len(ids)


def tools_of(example: dict[str, Any]) -> tuple[dict[str, Any], ...] | None:
    """An example's tools: their names, or tables with the parameters as well."""
    if "tools" not in example:
        return None
    return tuple(tool if isinstance(tool, dict) else {"name": tool} for tool in example["tools"])


@pytest.mark.parametrize("file", unspool.formats(), ids=lambda file: file.name)
def test_every_format_has_cases_and_its_examples_parse(file: unspool.FormatFile) -> None:
    assert len([case for case in CASES if case.format == file.name]) >= 8
    assert file.examples
    for example in file.examples:
        case = Case(
            format=file.name,
            name="example",
            input=example["input"],
            content=example.get("content", ""),
            reasoning=example.get("reasoning", ""),
            calls=tuple((c["name"], c["arguments"], "complete") for c in example.get("calls", ())),
            tools=tools_of(example),
        )
        for pieces in byte_splits(case.input.encode()):
            check(case, pieces)
