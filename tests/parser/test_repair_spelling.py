"""`repair=True` reads markers in ASCII: models write `<|DSML|` where `<｜DSML｜` is meant."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import unspool
from unspool import Parser, Vocabulary
from unspool.testing.cases import Case, shipped_cases

LOOK_ALIKES = str.maketrans({"｜": "|", "▁": "_"})
CALL = (
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="city" string="true">Paris'
    "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"
)
FORMATS = [
    file.name
    for file in unspool.formats()
    if any(text != text.translate(LOOK_ALIKES) for text in file.facts.markers)
]


def read(case: Case, output: str) -> unspool.Message:
    tools: Any = None if case.tools is None else list(case.tools)
    parser = Parser(case.format, tools, id_seed=1, **{**case.options, "repair": True})
    parser.parse_chunk(output)
    return parser.finish(case.finish_reason)


@pytest.mark.parametrize("format", FORMATS)
def test_an_output_in_ascii_reads_as_the_right_one(format: str) -> None:
    count = 0
    for case in shipped_cases(format):
        slip = case.input.translate(LOOK_ALIKES)
        if case.format != format or slip == case.input:
            continue
        count += 1
        right, read_slip = read(case, case.input), read(case, slip)
        for name in ("content", "reasoning"):
            assert getattr(read_slip, name) == getattr(right, name).translate(LOOK_ALIKES), case.name
        assert read_slip.finish_reason == right.finish_reason, case.name
        for call, wanted in zip(read_slip.tool_calls, right.tool_calls, strict=True):
            arguments = wanted.arguments.translate(LOOK_ALIKES)
            assert dataclasses.replace(call, repairs=()) == dataclasses.replace(
                wanted, arguments=arguments, repairs=()
            ), case.name
    assert count


def test_the_call_lists_the_repair() -> None:
    message = Parser("deepseek_v32", repair=True, audit=True).parse(CALL.translate(LOOK_ALIKES))
    assert [call.repairs for call in message.tool_calls] == [("markup",)]
    assert not message.malformed
    assert Parser("deepseek_v32", repair=True).parse(CALL).tool_calls[0].repairs == ()


def test_a_slip_between_calls_counts_for_the_next() -> None:
    """Step 3 writes its tokens around calls that tags mark."""
    opener, call = "<｜tool_call_begin｜>function<｜tool_sep｜>", '<steptml:invoke name="f"></steptml:invoke>'
    output = f"<｜tool_calls_begin｜>{opener}{call}{opener.translate(LOOK_ALIKES)}{call}<｜tool_calls_end｜>"
    message = Parser("step3", repair=True).parse(output)
    assert [call.repairs for call in message.tool_calls] == [(), ("markup",)]


def test_without_repair_it_is_text() -> None:
    slip = CALL.translate(LOOK_ALIKES)
    assert Parser("deepseek_v32").parse(slip).content == slip


@pytest.mark.parametrize(("trust", "is_call"), [("id", False), ("either", True), ("text", True)])
def test_where_ids_are_known_text_that_resembles_a_marker_is_text(trust: Any, is_call: bool) -> None:
    slip = CALL.translate(LOOK_ALIKES)
    vocabulary = Vocabulary(
        {bytes([byte]): byte for byte in range(256)}, [(256, "｜DSML｜", "｜DSML｜", True)], is_bytes=True
    )
    parser = Parser("deepseek_v32", tokenizer=vocabulary, trust=trust, repair=True)
    message = parser.parse(list(slip.encode()))
    assert bool(message.tool_calls) is is_call
    if not is_call:
        assert message.content == slip
