"""What is held is the beginning of a marker, of a character, or a value whose type is open."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st
from unspool import Parser, get_format

from ..outputs import TOOLS, outputs
from .pattern_texts import around, texts


def openers_and_closers(format: str) -> set[str]:
    """The markers that may stand in content and reasoning."""
    facts = get_format(format).facts
    found = {*facts.ends, *facts.dropped, *facts.section_openers, *facts.section_closers}
    if facts.reasoning:
        found |= {*facts.reasoning.openers, *facts.reasoning.closers, facts.reasoning.label}
    for call in facts.calls:
        found |= {*call.openers, *call.closers}
    # One alternative may open another call only where the last one's closer is missing.
    found |= {around(text, "name")[0].strip() for text in texts(format, "call") if "${name}" in text}
    return found.union(*(header.openers for header in facts.headers))


def behind_idle_markers(held: str, markers: set[str]) -> list[str]:
    """What follows whole markers that change nothing, one after the other: these are text if text follows."""
    found = [held]
    while marker := max((m for m in markers if m and held.lstrip().startswith(m)), key=len, default=""):
        held = held.lstrip()[len(marker) :]
        found += [held, held.strip(), "\n" + held.lstrip()]
    return found


@given(data=st.data())
def test_content_and_reasoning_wait_for_nothing_else(format: str, data: st.DataObject) -> None:
    output = data.draw(outputs(format))
    markers = openers_and_closers(format)
    facts = get_format(format).facts
    label = facts.reasoning.label.strip() if facts.reasoning else ""
    is_bare = any(call.may_be_content for call in facts.calls)
    headers = [text for header in facts.headers for text in header.openers]
    parser = Parser(format, TOOLS, audit=True)
    fed = ""
    for letter in output:
        parser.parse_chunk(letter)
        fed += letter
        told = "".join(text for _, text in parser._audit())
        held = fed[len(told) :]
        assert fed.startswith(told)
        if parser.region == "tool_call" or (is_bare and parser.region == "content"):
            continue  # names and bare calls: other tests
        if not held or any(told.endswith(text) or held.startswith(text) for text in headers):
            continue  # a header decides what follows it
        if parser.held[1] == "header" and (not told or any(text in held for text in headers)):
            continue  # the prompt may have opened the first one
        if parser.region == "content" and told.rstrip().endswith("}"):
            continue  # text after whole arguments: whether their call's closer comes decides
        if parser.held[1] in ("call", "name"):  # an opener is on trial
            assert any(marker in held for marker in markers), (fed, held)
            continue
        tail = held.lstrip(" \t\r\n,;")
        behind = behind_idle_markers(held, markers)
        assert (
            not tail
            or not behind[-1].strip()
            or any(
                marker.startswith(part) and marker != part
                for marker in markers
                for part in {tail, "\n" + tail, held.removeprefix(label), *behind}
            )
        ), (fed, held)
        assert len(held) - len(tail) <= 66


@given(text=st.text(alphabet='ab <>{}[]"\n\\é🎉', max_size=60))
def test_json_arguments_stream_as_they_are_written(text: str) -> None:
    arguments = json.dumps({"city": text}, ensure_ascii=False)
    parser = Parser("hermes", TOOLS)
    parser.parse_chunk('<tool_call>{"name": "get_weather", "arguments": ')
    for letter in arguments:
        (delta,) = parser.parse_chunk(letter)
        assert delta.text == letter


@given(text=st.text(alphabet='ab <>/parmete=\n"é🎉', max_size=60))
def test_tagged_text_streams_but_for_a_possible_closing_tag(text: str) -> None:
    parser = Parser("qwen3_coder", TOOLS)
    opened = parser.parse_chunk("<function=get_weather><parameter=city>\n")
    fed, out = "", "".join(delta.text for delta in opened)
    tags = ["</parameter>", "<parameter=", "</function>", "<function="]
    for letter in text:
        fed += letter
        out += "".join(delta.text for delta in parser.parse_chunk(letter))
        seen = json.loads(out + '"}')["city"]
        assert fed.startswith(seen)
        held = fed[len(seen) :]
        tag = re.sub(r"^(\r?\n)?[ \t]*", "", held) if held.startswith("\n") else held
        is_tag = any(known.startswith(tag) for known in tags)
        assert is_tag or tag.startswith(("</parameter>", "<parameter=")), (
            "a tag, until it is clear what it is"
        )


def test_a_name_is_emitted_as_soon_as_it_is_certain() -> None:
    parser = Parser("hermes", TOOLS)
    assert parser.parse_chunk('<tool_call>\n{"name": "get_weather') == []
    (delta,) = parser.parse_chunk('"')
    assert (delta.kind, delta.name) == ("tool_call_begin", "get_weather")


def test_a_number_waits_for_its_end_and_a_union_only_while_it_is_open() -> None:
    parser = Parser("qwen3_coder", TOOLS)
    parser.parse_chunk("<function=get_weather><parameter=days>1")
    assert parser.parse_chunk("2") == []
    (delta,) = parser.parse_chunk("</parameter><parameter=")
    assert delta.text == "12"
    parser.parse_chunk("note>nul")
    (delta,) = parser.parse_chunk("x")
    assert delta.text == '"nulx'
