"""An audit has each byte once, in the order of the output, up to a stop string; it does not depend on the split."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from typing import Any

import pytest
from unspool import ArgumentError, Message, Parser
from unspool.testing import Case, shipped_cases

from .label_tokens import cut

pytestmark = pytest.mark.filterwarnings("ignore:the content has")

#: What holds text, moves it to another region, or makes content of markup.
OPTIONS: list[dict[str, Any]] = [
    {},
    {"white_space": "trim"},
    {"only_reasoning": True},
    {"only_reasoning": True, "white_space": "trim"},
    {"tool_choice": "required"},
    {"unknown_tools": "content"},
    {"unknown_tools": "drop-with-report", "white_space": "trim"},
    {"max_calls": 1, "white_space": "trim"},
    {"reasoning": False},
    {"also": "any", "white_space": "trim"},
]
#: Which nothing of an output is lost behind: white space, an empty list of calls, and half of one.
EDGES = ["", " []", " [] Hi ", "\n [", "\n[{ ", " Hi \n"]


def joined(message: Message) -> list[tuple[str, str]]:
    groups = itertools.groupby(message.audit, key=lambda entry: entry[0])
    return [(fate, "".join(text for _, text in group)) for fate, group in groups]


def text_of(message: Message) -> str:
    return "".join(text for _, text in message.audit)


def drawn(format: str) -> Iterable[tuple[Case, str, dict[str, Any]]]:
    """Each case with each set of options; three of four with stop strings of the case."""
    draw = random.Random(format)
    for case in shipped_cases(format):
        for options in OPTIONS:
            if options.keys() & case.options.keys() or "start_in" in case.options:
                continue
            output = draw.choice(EDGES) + case.input + draw.choice(EDGES)
            places = [draw.randrange(len(output)) for _ in range(draw.choice([0, 1, 1, 2]))] if output else []
            stop = [output[place : place + draw.choice([1, 2, 5])] for place in places]
            given = {"stop": stop, "include_stop": draw.random() < 0.3} if stop else {}
            yield case, output, {**case.options, **options, **given}


def read(case: Case, pieces: Iterable[Any], **options: Any) -> Message:
    tools = None if case.tools is None else list(case.tools)
    if options.get("tool_choice") == "required" and not tools:
        tools = [{"name": "f"}]
    parser = Parser(case.format, tools, id_seed=1, audit=True, **options)
    for piece in pieces:
        parser.parse_chunk(piece) if isinstance(piece, (str, bytes)) else parser.parse_chunk(None, piece)
    return parser.finish(case.finish_reason)


def check(whole: Message, split: Message, output: str, options: dict[str, Any]) -> None:
    assert joined(split) == joined(whole), options
    told = text_of(whole)
    assert output.startswith(told) if "stop" in options else told == output, (options, told, output)


def test_of_text(format: str) -> None:
    for case, output, options in drawn(format):
        whole = read(case, [output], **options)
        half = len(output) // 2
        for pieces in (output, [output[:half], output[half:]]):
            check(whole, read(case, pieces, **options), output, options)


def test_of_ids(format: str) -> None:
    for case, output, options in drawn(format):
        tokens = cut(format, output, lambda: 2)
        ids = tokens.ids[:-1]  # the last one ends the turn
        given = {**options, "tokenizer": tokens.vocabulary}
        try:
            whole = read(case, [ids], **given)
        except ArgumentError:
            continue
        check(whole, read(case, ([id] for id in ids), **given), output, options)
