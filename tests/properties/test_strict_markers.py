"""With `strict_markers`, a marker that is no token counts only inside what a token has opened."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
import unspool
from hypothesis import given
from hypothesis import strategies as st
from unspool import ArgumentError, Message, Parser, Vocabulary, get_format
from unspool.core.format.compile_format import compile_format
from unspool.formats.format_file import FormatFile
from unspool.testing import shipped_cases
from unspool.testing.cases import Case

from ..outputs import TOOLS, outputs

CASES: dict[str, list[Case]] = {}
for shipped in shipped_cases():
    CASES.setdefault(shipped.format, []).append(shipped)


def markers_of(file: FormatFile) -> list[str]:
    """All markers that can be tokens: not white space, not a single letter, which any text may have."""
    found = {*file.facts.markers, *file.facts.marker_tokens}
    return sorted(text for text in found if len(text) > 1 and text.strip())


def vocabulary_of(tokens: Iterable[str]) -> Vocabulary:
    """One id a byte, and one for each of the tokens."""
    added = [(256 + i, text, text, True) for i, text in enumerate(tokens)]
    return Vocabulary({bytes([byte]): byte for byte in range(256)}, added, is_bytes=True)


def encode(text: str, tokens: list[str]) -> list[int]:
    """The ids of a text: the longest token that stands at a place, or else a byte."""
    ids: list[int] = []
    while text:
        token = max((t for t in tokens if text.startswith(t)), key=len, default="")
        ids += [256 + tokens.index(token)] if token else list(text[0].encode())
        text = text[len(token) or 1 :]
    return ids


def opens_by_marker(file: FormatFile) -> bool:
    """Whether some marker opens a call (or, if the format has no calls, its reasoning)."""
    facts = file.facts
    if not facts.calls:
        return True
    return bool(facts.section_openers) or any(call.openers or call.after_header for call in facts.calls)


def shown(message: Message) -> tuple[Any, ...]:
    calls = [(call.name, call.arguments, call.status) for call in message.tool_calls]
    problems = [item.text for item in message.malformed]
    return message.content, message.reasoning, calls, problems, message.finish_reason


def bare_calls(file: FormatFile, case: Case) -> bool:
    """Whether the case may have a call that no marker opens."""
    facts = file.facts
    may_be_bare = any(call.bare != "nowhere" for call in facts.calls)
    guided = case.options.get("tool_choice", "auto") not in ("auto", "none")
    return may_be_bare or guided or case.options.get("repair", False)


def test_real_markers_count_as_without_the_option(format: str) -> None:
    file = get_format(format)
    tokens = markers_of(file)
    vocabulary = vocabulary_of(tokens)
    compared = 0
    for case in CASES[format]:
        options = {**case.options, "tokenizer": vocabulary, "id_seed": 1}
        if options.get("unmarked_calls") or options.get("trust", "id") != "id":
            continue
        given = Parser(file, case.tools, **options)
        has_calls = options.get("tool_choice") != "none" and case.tools != ()
        if not opens_by_marker(file) and has_calls:
            with pytest.raises(ArgumentError, match="is a token of this vocabulary"):
                Parser(file, case.tools, **options, strict_markers=True)
            continue
        ids = encode(case.input, tokens)
        expected = shown(given.parse(ids, case.finish_reason))
        strict = shown(
            Parser(file, case.tools, **options, strict_markers=True).parse(ids, case.finish_reason)
        )
        if strict != expected and bare_calls(file, case):
            assert len(strict[2]) < len(expected[2]) or strict[0] != expected[0], case
            continue
        assert strict == expected, case
        compared += 1
    assert compared or not opens_by_marker(file) or format in ("json", "pythonic"), "no case was compared"


@given(data=st.data())
def test_what_ordinary_tokens_spell_is_content(format: str, data: st.DataObject) -> None:
    file = get_format(format)
    if not opens_by_marker(file):
        return
    markers = markers_of(file)
    tokens = data.draw(st.just(markers) | st.just(list(file.facts.marker_tokens)))
    try:
        parser = Parser(
            file, TOOLS, tokenizer=vocabulary_of(tokens), strict_markers=True, start_in="content", audit=True
        )
    except ArgumentError:
        assert set(tokens) != set(markers)  # with every marker as a token it is accepted
        return
    words = [
        *markers,
        "x",
        "\n",
        " ",
        '{"name": "get_weather", "arguments": {}}',
        "get_weather",
        "[",
        "{",
        "```json\n",
    ]
    mixed = st.lists(st.sampled_from(words), max_size=12).map("".join)
    spelled = data.draw(mixed | outputs(format))
    if file.facts.headers:
        spelled = (
            "Hi. " + spelled
        )  # the turn may have opened a header: what follows it at once is the header's
    ids = list(spelled.encode())
    size = data.draw(st.integers(1, 7))
    for begin in range(0, len(ids), size):
        parser.parse_chunk(None, ids[begin : begin + size])
    message = parser.finish()
    assert message.tool_calls == ()
    assert message.reasoning == ""
    assert message.malformed == ()
    assert message.content == spelled


MIXED = FormatFile(
    """
name = "mixed"
reasoning = "<think>${reasoning}</think>"
calls = "<calls>${calls}</calls>"
call = "<c>${object}</c>"
"""
)
CALL = '<c>{"name": "f", "arguments": {}}</c>'
OUTER = ["<think>", "</think>", "<calls>", "</calls>"]


def read(
    output: str, file: FormatFile = MIXED, tokens: list[str] = OUTER, **options: Any
) -> tuple[str, str, int]:
    parser = Parser(file, tokenizer=vocabulary_of(tokens), strict_markers=True, start_in="content", **options)
    message = parser.parse(encode(output, tokens))
    assert message.malformed == ()
    return message.content, message.reasoning, len(message.tool_calls)


@pytest.mark.parametrize("in_reasoning", ["auto", "keep", "end"])
@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (CALL, (CALL, "", 0)),
        (f"Look: {CALL}", (f"Look: {CALL}", "", 0)),
        (f"<calls>{CALL}</calls>", ("", "", 1)),
        (f"<calls>{CALL}\n{CALL}</calls>", ("", "", 2)),
        (f"<calls>{CALL}</calls>{CALL}", (CALL, "", 1)),
        (f"<think>a{CALL}b</think>c", ("c", f"a{CALL}b", 0)),
        (f"<think>a</think>{CALL}", (CALL, "a", 0)),
    ],
)
def test_a_literal_counts_inside_a_token_alone(
    output: str, expected: tuple[str, str, int], in_reasoning: str
) -> None:
    assert read(output, tool_calls_in_reasoning=in_reasoning) == expected


def test_calls_that_are_tried_in_reasoning() -> None:
    """A section of calls that tokens open counts in reasoning, and a literal after its end does not."""
    auto = {"tool_calls_in_reasoning": "auto"}
    section = f"<calls>{CALL}{CALL}</calls>"
    assert read(f"<think>a{section}", **auto) == ("", "a", 2)
    assert read(f"<think>a{section}b</think>c", **auto) == ("c", f"a{section}b", 0)
    assert read(f"<think>a{section}{CALL}</think>c", **auto) == ("c", f"a{section}{CALL}", 0)


def test_a_literal_that_closes_the_reasoning() -> None:
    """It counts: a token or the prompt has opened the reasoning."""
    assert read("<think>a</think>b", tokens=["<think>", "<calls>"]) == ("b", "a", 0)
    assert read("a</think>b", tokens=["<think>", "<calls>"]) == ("a</think>b", "", 0)


def test_a_literal_amid_a_header() -> None:
    """A header that a token has opened ends at its closer, not at a literal opener of another region."""
    file = FormatFile(
        """
name = "headed"
header = "<h>${_}<m>"
content = "<h>to=user<m>${content}<e>"
call = ["<h>to=tool.${name}<m>${arguments}<e>", "<c>${object}</c>"]
"""
    )
    tokens = ["<h>", "<m>", "<e>"]
    vocabulary = vocabulary_of(tokens)
    ids = encode(f"<h>to=user{CALL}", tokens)
    strict = Parser(file, tokenizer=vocabulary, strict_markers=True).parse(ids)
    plain = Parser(file, tokenizer=vocabulary).parse(ids)
    assert (len(strict.tool_calls), len(plain.tool_calls)) == (0, 1)


def test_bare_calls_are_text() -> None:
    bare = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
    tokens = ["<|python_tag|>"]
    parser = Parser("llama3_json", TOOLS, tokenizer=vocabulary_of(tokens), strict_markers=True)
    assert shown(parser.parse(encode(bare, tokens)))[:3] == (bare, "", [])
    parser = Parser("llama3_json", TOOLS, tokenizer=vocabulary_of(tokens), strict_markers=True)
    assert len(parser.parse(encode("<|python_tag|>" + bare, tokens)).tool_calls) == 1


def test_text_without_ids_is_refused() -> None:
    vocabulary = vocabulary_of(OUTER)
    with pytest.raises(ArgumentError, match="pass tokenizer="):
        Parser(MIXED, strict_markers=True)
    parser = Parser(MIXED, tokenizer=vocabulary, strict_markers=True)
    with pytest.raises(ArgumentError, match="pass its ids too"):
        parser.parse_chunk("<calls>")
    parser.parse_chunk("<calls>", [258])  # the refused text has left no trace
    parser.parse_chunk(CALL + "</calls>", encode(CALL + "</calls>", OUTER))
    assert len(parser.finish().tool_calls) == 1
    with pytest.raises(ArgumentError, match=r"outputs\[1\]: strict_markers"):
        unspool.parse_batch([[65], "a"], MIXED, tokenizer=vocabulary, strict_markers=True)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"trust": "either"}, "trust='either' counts spellings"),
        ({"unmarked_calls": True}, "choose one"),
        (
            {"tokenizer": vocabulary_of(["<think>"])},
            "no marker of format 'mixed' that opens a call is a token",
        ),
        ({"format": "pythonic"}, "no marker of format 'pythonic' that opens a call"),
        ({"format": unspool.Format(MIXED)}, "is not strict"),
    ],
)
def test_what_does_not_go_with_it(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        Parser(**{"format": MIXED, "tokenizer": vocabulary_of(OUTER), "strict_markers": True, **options})


def test_batches_and_compiled_formats() -> None:
    vocabulary = vocabulary_of(OUTER)
    compiled = compile_format(MIXED, vocabulary=vocabulary, strict_markers=True)
    ids = [encode(CALL, OUTER), encode(f"<calls>{CALL}</calls>", OUTER)]
    for format in (MIXED, compiled):
        found = unspool.parse_batch(ids, format, tokenizer=vocabulary, strict_markers=True)
        assert [len(message.tool_calls) for message in found] == [0, 1]
    batch = unspool.StreamBatch(vocabulary, MIXED, strict_markers=True)
    slot = batch.add()
    batch.step([slot], ids[0], [0, len(ids[0])])
    batch.finish(slot)
    assert (batch.message(slot).content, batch.message(slot).tool_calls) == (CALL, ())
