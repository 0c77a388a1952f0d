"""Why an output was no call: where the format stopped, and what reads the output."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
import unspool
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from unspool import why
from unspool.testing.cases import shipped_cases

TOOLS = [{"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}]
QWEN = "Hi\n\n<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"


def printed(value: Any, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(value)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(
    ("format", "output", "start", "place", "rule"),
    [
        ("hermes", QWEN, 3, QWEN.index("function="), "the call is not a JSON object"),
        ("hermes", 'a <tool_cal>{"name": "f"}', 2, 11, "the opener '<tool_call>' is not complete"),
        ("hermes", "see <tool_call> and more", 4, 16, "no call follows the opener"),
        (
            "hermes",
            '<tool_call>{"name": "f", "arguments": {"a": 1,, }}',
            46,
            46,
            "the call is not valid JSON",
        ),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a', 41, 41, "the output ends inside the call"),
        (
            "qwen3_coder",
            "<tool_call>\n<function=f>\n<parameter=a>1",
            39,
            39,
            "the output ends inside the call",
        ),
        ("mistral", "[TOOL_CALL]f{}", 0, 10, "the opener '[TOOL_CALLS]' is not complete"),
    ],
)
def test_the_first_byte_that_did_not_fit(format: str, output: str, start: int, place: int, rule: str) -> None:
    found = why(output, format)
    assert not found.calls
    assert [(stop.start, stop.place, stop.rule) for stop in found.stops][:1] == [(start, place, rule)]
    assert f"byte {place} (line " in printed(found)


@pytest.mark.parametrize("name", [file.name for file in unspool.formats() if file.has_tools])
def test_the_format_of_an_output_is_found(name: str) -> None:
    """For cases whose calls fit their tools, the format is among those that read all of them."""
    for case in [case for case in shipped_cases(name) if case.calls and not case.options][:3]:
        offered = case.tools and [*case.tools, *({"name": name} for name, *_ in case.calls)]
        own = unspool.parse(case.input, name, offered, id_seed=1)
        if all(call.is_complete and not call.violations for call in own.tool_calls):
            assert why(case.input, name, offered, id_seed=1).calls == own.tool_calls
            found = why(case.input, None, offered)
            best = [reader for reader in found.readers if name in reader.formats]
            assert [len(reader.calls) for reader in best] == [len(own.tool_calls)]


def test_formats_are_ranked() -> None:
    found = why(QWEN, "hermes", TOOLS)
    assert found.readers[0].formats[0] == "qwen3_coder"
    assert found.readers[0].calls[0].arguments == '{"a": 1}'
    text = printed(found)
    assert "hermes reads no call." in text
    assert "Use the format 'qwen3_coder', or also='qwen3_coder' beside this format." in text
    assert "The call is one JSON object" in text
    assert printed(why(QWEN)).strip().endswith("Use the format 'qwen3_coder'.")


def test_options_that_read_it() -> None:
    assert why("<tool_call>{'name': 'f', 'arguments': {}}</tool_call>", "hermes").options == ("repair=True",)
    bare = '{"name": "f", "arguments": {"a": 1}}'
    assert "unmarked_calls=True" in why(bare, "hermes", TOOLS).options
    inside = '<think>a <tool_call>{"name": "f", "arguments": {}}</tool_call> b</think>'
    assert "tool_calls_in_reasoning='end'" in why(inside, "qwen3").options
    assert "With repair=True, hermes reads a call." in printed(
        why("<tool_call>{'name': 'f'}</tool_call>", "hermes")
    )


def test_calls_that_do_not_fit_the_tools() -> None:
    call = '<tool_call>\n{"name": "%s", "arguments": {"a": %s}}\n</tool_call>'
    other, wrong = call % ("g", 1), call % ("f", '"x"')
    assert not why(other, "hermes", TOOLS).calls
    assert "no tool has this name" in printed(why(other, "hermes", TOOLS))
    assert not why(wrong, "hermes", TOOLS).calls
    assert "'x' is not of type 'integer'" in printed(why(wrong, "hermes", TOOLS))
    assert why(wrong, "hermes").calls


def test_nothing_reads_a_plain_text() -> None:
    found = why("Just words, no call.", "hermes")
    assert (found.stops, found.options, found.readers) == ((), (), ())
    text = printed(found)
    assert "Nothing in the output begins a call of hermes." in text
    assert "No other format reads a call." in text
    assert "unspool learn" in text


@given(st.text("<tool_call>{}\"name':,[] \n\x1b\u202e/fé", max_size=60))
def test_any_output_is_explained(output: str) -> None:
    found = why(output, "hermes")
    size = len(output.encode())
    for stop in found.stops:
        assert 0 <= stop.start <= stop.place <= size
        assert stop.rule
    text = printed(found)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    assert len(repr(found)) < 1_500


def test_wrong_arguments() -> None:
    with pytest.raises(unspool.UnknownFormatError, match="hermes"):
        why("a", "hermez")
    with pytest.raises(unspool.ArgumentError, match="lone surrogate"):
        why("\ud800", "hermes")
    with pytest.raises(TypeError, match="colour"):
        why("a", "hermes", colour=1)
