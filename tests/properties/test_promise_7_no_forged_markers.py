"""Where a marker is a token and ids are known, text that merely spells it is text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unspool import Parser, Vocabulary, get_format

from ..outputs import TOOLS, outputs


def vocabulary_of(format: str) -> tuple[Vocabulary, dict[str, int]]:
    """One id a byte, and one for each marker that is worth a token."""
    markers = get_format(format).facts.marker_tokens
    ids = {marker: 256 + i for i, marker in enumerate(markers)}
    added = [(id, marker, marker, True) for marker, id in ids.items()]
    return Vocabulary({bytes([byte]): byte for byte in range(256)}, added, is_bytes=True), ids


@given(data=st.data())
def test_spelled_markers_are_text(format: str, data: st.DataObject) -> None:
    vocabulary, ids = vocabulary_of(format)
    spelled = data.draw(st.lists(st.sampled_from([*ids, "x", "\n", " y "]), max_size=8).map("".join))
    message = Parser(format, None, tokenizer=vocabulary, start_in="content", audit=True).parse(
        list(spelled.encode())
    )
    facts = get_format(format).facts
    if ids and not any(call.bare for call in facts.calls):
        # A line break at the beginning may end the header that the prompt has opened.
        headers = [header for header in facts.headers if not header.names_tool]
        closers = {text for header in headers for text in header.closers}
        if "\n" in closers and spelled.startswith("\n"):
            assert message.content.strip() == spelled.strip()
        else:
            assert message.content == spelled
    assert message.tool_calls == ()
    assert message.reasoning == ""


@given(data=st.data())
def test_real_markers_work_by_id_as_by_text(format: str, data: st.DataObject) -> None:
    """The same output with its markers as tokens parses to the same message."""
    vocabulary, ids = vocabulary_of(format)
    output = data.draw(outputs(format))
    tokens: list[int] = []
    rest = output
    while rest:
        marker = next((m for m in sorted(ids, key=len, reverse=True) if rest.startswith(m)), None)
        tokens += [ids[marker]] if marker else list(rest[0].encode())
        rest = rest[len(marker or rest[0]) :]
    by_text = Parser(format, TOOLS, id_seed=1).parse(output)
    by_id = Parser(format, TOOLS, id_seed=1, tokenizer=vocabulary).parse(tokens)
    ends = get_format(format).facts.ends
    if any(end in output.removesuffix(end) for end in ends):
        return  # a turn that goes on after its end: text may be a string's, the token never is
    spoken = by_id.content + by_id.reasoning + by_text.content + by_text.reasoning
    known = get_format(format).facts.markers
    if any(marker in spoken for marker in known):
        return  # spelled within text a marker may be a mention, its token never is
    if any(output.endswith(marker[:size]) for marker in known for size in range(1, len(marker))):
        return  # by text the end may still become a marker
    if not by_text.malformed and all(call.status == "complete" for call in by_text.tool_calls):
        assert by_id.reasoning == by_text.reasoning
        assert by_id.content == by_text.content
        assert by_id.tool_calls == by_text.tool_calls


def test_a_marker_token_inside_a_string_is_part_of_the_string() -> None:
    vocabulary, ids = vocabulary_of("hermes")
    text = lambda part: list(part.encode())  # noqa: E731
    message = Parser("hermes", tokenizer=vocabulary).parse(
        [
            ids["<tool_call>"],
            *text('{"name": "f", "arguments": {"x": "'),
            ids["</tool_call>"],
            *text('"}}'),
            ids["</tool_call>"],
            ids["<|im_end|>"],
        ]
    )
    assert message.tool_calls[0].arguments == '{"x": "</tool_call>"}'
    assert message.content == ""


@pytest.mark.parametrize("trust", ["id", "text", "either"])
def test_trust_is_a_choice(trust: Any) -> None:
    """Text grammars may spell a marker with ordinary tokens; who allows that says so."""
    vocabulary, _ = vocabulary_of("hermes")
    spelled = '<tool_call>{"name": "f"}</tool_call>'
    message = Parser("hermes", tokenizer=vocabulary, trust=trust).parse(list(spelled.encode()))
    assert len(message.tool_calls) == (0 if trust == "id" else 1)


def test_the_token_that_ends_the_turn_is_never_text() -> None:
    """A model that stops inside a string leaves no token's text in the arguments."""
    vocabulary, ids = vocabulary_of("hermes")
    cut = list(b'{"name": "f", "arguments": {"x": "Par')
    message = Parser("hermes", tokenizer=vocabulary).parse([ids["<tool_call>"], *cut, ids["<|im_end|>"]])
    (call,) = message.tool_calls
    assert (call.arguments, call.status) == ('{"x": "Par', "incomplete")


def test_a_closing_tag_that_is_one_token_is_text_inside_a_value() -> None:
    """MiniMax M3's tags are text or tokens, as the tokenizer has it; a value may hold them either way."""
    begin = ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>a '
    closer = "]<]minimax[>[</tool_call>"
    end = "b]<]minimax[>[</city>]<]minimax[>[</invoke>" + closer
    tools = [{"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}}}]
    vocabulary = Vocabulary(
        {bytes([byte]): byte for byte in range(256)},
        [(256, "]<]minimax[>[", "]<]minimax[>[", True), (257, "</tool_call>", "</tool_call>", True)],
        is_bytes=True,
    )
    ids: list[int] = []
    for part in (begin, closer, end):
        rest = part
        while rest:
            if rest.startswith("]<]minimax[>["):
                ids.append(256)
                rest = rest[13:]
            elif rest.startswith("</tool_call>"):
                ids.append(257)
                rest = rest[12:]
            else:
                ids += list(rest[0].encode())
                rest = rest[1:]
    by_id = Parser("minimax_m3", tools, tokenizer=vocabulary).parse(ids)
    by_text = Parser("minimax_m3", tools).parse(begin + closer + end)
    for message in (by_id, by_text):
        (call,) = message.tool_calls
        assert (call.arguments, call.status) == ('{"city": "a ]<]minimax[>[</tool_call>b"}', "complete")
