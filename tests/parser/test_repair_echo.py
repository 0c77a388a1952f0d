"""With repair=True a call's body and closer that the model writes twice are one call."""

from __future__ import annotations

import json
from typing import Any

import pytest
import unspool
from hypothesis import given
from hypothesis import strategies as st
from unspool import Parser, Vocabulary
from unspool.testing import byte_splits, pieces_of

from ..outputs import outputs, render

CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS: list[dict[str, Any]] = [
    {"name": "get_weather", "parameters": CITY},
    {"name": "now", "parameters": {"type": "object", "properties": {}}},
]
FILES = {file.name: file for file in unspool.formats() if file.has_tools}


def parts(file: unspool.FormatFile, city: str = "Paris") -> tuple[str, str, str] | None:
    """A call as the format's model writes it: up to its body, its body with the closer, and the rest."""
    arguments = {"city": city}
    text = render(file, "", "", [("get_weather", arguments)], form=-1)
    audit = Parser(file, TOOLS, audit=True).parse(text).audit
    fates = [fate for fate, _ in audit]
    if "tool_call" not in fates or fates.index("tool_call") == 0:
        return None
    begin = sum(len(piece) for _, piece in audit[: fates.index("tool_call")])
    opener = text[:begin].rstrip()
    if not any(opener.endswith(one) for call in file.facts.calls for one in call.openers):
        return None
    closers = [closer for call in file.facts.calls for closer in call.closers if closer in text[begin:]]
    if not closers:
        return None
    end = max(text.rindex(closer) + len(closer) for closer in closers)
    return text[:begin], text[begin:end], text[end:]


WRITTEN = {name: found for name, file in FILES.items() if (found := parts(file)) is not None}


def vocabulary_of(file: unspool.FormatFile) -> tuple[Vocabulary, dict[str, int]]:
    ids = {marker: 256 + i for i, marker in enumerate(file.facts.marker_tokens)}
    added = [(id, marker, marker, True) for marker, id in ids.items()]
    return Vocabulary({bytes([byte]): byte for byte in range(256)}, added, is_bytes=True), ids


def ids_of(text: str, ids: dict[str, int]) -> list[int]:
    found: list[int] = []
    while text:
        marker = next((m for m in sorted(ids, key=len, reverse=True) if text.startswith(m)), None)
        found += [ids[marker]] if marker else list(text[0].encode())
        text = text[len(marker or text[0]) :]
    return found


def read(name: str, pieces: list[bytes], **options: Any) -> unspool.Message:
    parser = Parser(name, TOOLS, repair=True, audit=True, id_seed=1, **options)
    for piece in pieces:
        parser.parse_chunk(piece)
    return parser.finish("stop")


def seen(message: unspool.Message) -> tuple[Any, ...]:
    calls = [
        (call.name, json.loads(call.arguments), call.status, call.repairs) for call in message.tool_calls
    ]
    return calls, message.content.strip(), message.reasoning, message.malformed, message.finish_reason


ONE = ([("get_weather", {"city": "Paris"}, "complete", ("markup",))], "", "", (), "tool_calls")


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("space", ["", "\n"])
def test_an_echo_is_no_second_call_and_no_content(name: str, space: str) -> None:
    begin, body, end = WRITTEN[name]
    output = begin + body + space + body + end
    for pieces in byte_splits(output.encode()):
        message = read(name, pieces)
        assert seen(message) == ONE
        assert "".join(text for _, text in message.audit) == output
    vocabulary, ids = vocabulary_of(FILES[name])
    parser = Parser(name, TOOLS, repair=True, tokenizer=vocabulary)
    assert seen(parser.parse(ids_of(output, ids))) == ONE


def test_most_families_have_such_a_call() -> None:
    assert len(WRITTEN) > 40
    assert {"lfm2", "hermes", "kimi_k2", "glm45", "mimo", "olmo3"} & WRITTEN.keys() >= {
        "lfm2",
        "hermes",
        "glm45",
    }


@pytest.mark.parametrize("name", WRITTEN)
def test_another_text_is_read_as_without_an_echo(name: str) -> None:
    """What begins like the body and ends otherwise is read as if none had been expected."""
    begin, body, _ = WRITTEN[name]
    for size in (1, len(body) // 2, len(body) - 1):
        rest = body[:size] + "~ and text"
        output = begin + body + rest
        messages = [read(name, pieces) for pieces in byte_splits(output.encode())]
        assert len({repr(seen_or_raw(message)) for message in messages}) == 1
        for message in messages:
            assert "".join(text for _, text in message.audit) == output
            assert message.tool_calls[0].repairs == ()
            assert "~ and text" in message.content + repr(message.malformed) + repr(message.tool_calls)


@pytest.mark.rest(but_one_in=10)
@pytest.mark.parametrize("name", WRITTEN)
@given(data=st.data())
def test_nothing_is_lost_where_an_echo_may_stand(name: str, data: st.DataObject) -> None:
    begin, body, _ = WRITTEN[name]
    cut = data.draw(st.integers(0, len(body)))
    output = (
        begin + body + data.draw(st.sampled_from(["", "\n", body])) + body[:cut] + data.draw(outputs(name))
    )
    raw = output.encode()
    whole = read(name, [raw])
    split = read(name, pieces_of(raw, data.draw(st.lists(st.integers(0, len(raw)), max_size=8))))
    assert seen_or_raw(whole) == seen_or_raw(split)
    for message in (whole, split):
        assert "".join(text for _, text in message.audit) == output


def seen_or_raw(message: unspool.Message) -> tuple[Any, ...]:
    return message.content, message.reasoning, message.tool_calls, message.malformed, message.finish_reason


@pytest.mark.parametrize("unknown", ["content", "drop-with-report"])
def test_the_echo_of_a_call_that_is_not_sent_is_part_of_its_text(unknown: Any) -> None:
    call = '<tool_call>{"name": "other", "arguments": {}}</tool_call>'
    output = call + call.removeprefix("<tool_call>")
    for pieces in byte_splits(output.encode()):
        message = read("hermes", pieces, unknown_tools=unknown)
        assert message.tool_calls == ()
        assert message.content + "".join(item.text for item in message.dropped) == output


def test_an_echo_is_mended_only_on_request_and_only_whole() -> None:
    call = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
    echo = call.removeprefix("<tool_call>")
    assert unspool.parse(call + echo, "hermes", TOOLS).tool_calls[0].repairs == ()
    assert "{" in unspool.parse(call + echo, "hermes", TOOLS).content
    twice = unspool.parse(call + echo + echo + call, "hermes", TOOLS, repair=True)
    assert [call.repairs for call in twice.tool_calls] == [("markup",), ()]
    long = call.replace("{}", json.dumps({"city": "x" * 5000}))
    kept = unspool.parse(long + long.removeprefix("<tool_call>"), "hermes", TOOLS, repair=True)
    assert kept.tool_calls[0].repairs == ()  # longer than what a stream keeps


def test_a_call_ends_as_soon_as_anything_follows() -> None:
    parser = Parser("hermes", TOOLS, repair=True)
    call = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
    assert [delta.kind for delta in parser.parse_chunk(call)] == ["tool_call_begin", "tool_call_arguments"]
    assert parser.parse_chunk("\n{") == []
    assert parser.held == (b"\n{", "call")
    kinds = [delta.kind for delta in parser.parse_chunk("x")]
    assert kinds == ["tool_call_end", "content"]


def test_a_spelled_closer_ends_no_echo_if_it_is_a_token() -> None:
    vocabulary, ids = vocabulary_of(FILES["hermes"])
    body = '{"name": "now", "arguments": {}}'
    tokens = [*ids_of("<tool_call>" + body + "</tool_call>", ids), *(body + "</tool_call>").encode()]
    message = Parser("hermes", TOOLS, repair=True, tokenizer=vocabulary).parse(tokens)
    assert message.content == body + "</tool_call>"
    assert message.tool_calls[0].repairs == ()
