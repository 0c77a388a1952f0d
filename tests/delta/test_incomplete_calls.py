"""`incomplete_calls`: what a client sees of a call that is cut off or malformed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from unspool import ArgumentError, DeltaChannel, Parser, Vocabulary, WireWriter, parse_batch
from unspool.streams.parser import ChannelParser
from unspool.testing.wire import assemble

WHOLE = '<tool_call>\n{"name": "f", "arguments": {"a": [1, 2]}}\n</tool_call>'
CUT = '<tool_call>\n{"name": "g", "arguments": {"b": "x'
BROKEN = '<tool_call>\n{"name": "h", "arguments": {"c": @@}}\n</tool_call>'


def stream(output: str, size: int = 1, reason: str = "stop", **options: Any) -> tuple[list[Any], Any]:
    parser = ChannelParser("hermes", channel=None, id_seed=1, **options)
    deltas = [d for at in range(0, len(output), size) for d in parser.parse_chunk(output[at : at + size])]
    message = parser.finish(reason)
    return [*deltas, *message.deltas], message


def kinds(deltas: list[Any]) -> list[tuple[str, int | None]]:
    return [(delta.kind, delta.index) for delta in deltas if delta.kind.startswith("tool_call")]


ONE = [("tool_call_begin", 0), ("tool_call_arguments", 0), ("tool_call_end", 0)]


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize("output", [WHOLE + CUT, "Hi" + BROKEN + "so" + WHOLE, BROKEN + BROKEN + WHOLE + CUT])
def test_only_whole_calls_are_sent(output: str, size: int) -> None:
    deltas, message = stream(output, size, incomplete_calls="withhold")
    assert kinds(deltas) == ONE
    (arguments,) = [delta.text for delta in deltas if delta.kind == "tool_call_arguments"]
    assert json.loads(arguments) == {"a": [1, 2]}
    forwarded, same = stream(output, size)
    assert [c.status for c in message.tool_calls] == [c.status for c in same.tool_calls]
    assert message.content == same.content
    assert len(kinds(forwarded)) > 3
    # In the message the others are flagged; for a client they are left out, unless it asks.
    assert len(message.tool_calls) > 1
    assert [c["function"]["name"] for c in message.to_openai()["tool_calls"]] == ["f"]
    everything = message.to_openai(incomplete_calls="forward")["tool_calls"]
    assert len(everything) == len(message.tool_calls)


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(
    ("output", "reason", "sent"),
    [
        ('Hi\n<tool_call>\n{"na', "length", "Hi"),
        ('Hi\n<tool_call>\n{"arguments": @@}\n</tool_call>' + WHOLE, "stop", "Hi"),
    ],
)
def test_nothing_of_what_became_no_call_is_sent(output: str, reason: str, sent: str, size: int) -> None:
    """Such text is content without the option. It is in `malformed` with both."""
    deltas, message = stream(output, size, reason, incomplete_calls="withhold")
    assert "".join(delta.text for delta in deltas if delta.kind in ("content", "malformed")) == sent
    forwarded, same = stream(output, size, reason)
    shown = "".join(delta.text for delta in forwarded if delta.kind in ("content", "malformed"))
    assert shown == same.content == message.content != sent
    assert message.malformed == same.malformed != ()


def test_text_is_not_held() -> None:
    """Only a call's deltas wait."""
    parser = Parser("hermes", incomplete_calls="withhold")
    assert [d.text for d in parser.parse_chunk("Hello")] == ["Hello"]
    assert parser.parse_chunk(WHOLE[:-17]) == []
    assert parser.parse_chunk(WHOLE[-17:]) != []


def test_positions_leave_no_gap() -> None:
    vocabulary = Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)
    output = list(f"Hi{BROKEN}{WHOLE}{BROKEN}!".encode())
    parser = Parser("hermes", tokenizer=vocabulary, incomplete_calls="withhold")
    deltas = [d for id in output for d in parser.parse_chunk(None, [id])]
    deltas += parser.finish().deltas
    assert [id for d in deltas for id in d.token_ids] == output
    ends = [0, *(d.token_span[1] for d in deltas)]
    assert [d.token_span[0] for d in deltas] == ends[:-1]


def test_a_channel_gets_the_same() -> None:
    channel = DeltaChannel()
    parser = ChannelParser("hermes", incomplete_calls="withhold", channel=channel)
    parser.parse_chunk(WHOLE + CUT)
    parser.finish("length")
    assert kinds(list(channel)) == ONE


PROTOCOLS = ["chat_completions", "responses", "messages", "open_inference", "google"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_writer_withholds(protocol: str, is_streamed: bool) -> None:
    deltas, _ = stream("Hi" + BROKEN + WHOLE + CUT, reason="length")
    options: dict[str, Any] = {"model": "m", "stream": is_streamed, "id": "x", "created": 1}
    # Google's clients run what they get of a call, so a broken one is told in words.
    for choice, names in (("forward", "f" if protocol == "google" else "fgh"), ("withhold", "f")):
        writer = WireWriter(protocol, incomplete_calls=choice, **options)
        written = b"".join(writer.write(delta) for delta in deltas)
        written += writer.end() if is_streamed else writer.body()
        for name in "fgh":
            plain = written.replace(b" ", b"").replace(b"\\", b"")
            assert (f'"name":"{name}"'.encode() in plain) == (name in names), (name, written)
        if protocol == "google":
            assert (b"Malformed function call: h {" in written) == (choice == "forward")
        if is_streamed and choice == "withhold":
            (answer,) = assemble(protocol, written)
            assert [json.loads(c.arguments) for c in answer.calls] == [{"a": [1, 2]}]


def test_a_writer_keeps_the_choices_apart() -> None:
    writer = WireWriter("chat_completions", model="m", n=2, incomplete_calls="withhold")
    rows = [
        stream(WHOLE, choice=0)[0],
        stream(CUT, choice=1)[0],
    ]
    written = b""
    for pair in zip(*rows, strict=False):
        written += writer.write(list(pair))
    longest = max(rows, key=len)
    written += writer.write(longest[min(map(len, rows)) :]) + writer.end()
    assert b'"name":"f"' in written
    assert b'"name":"g"' not in written


def test_a_batch_takes_the_option_and_bad_ones_raise() -> None:
    (message,) = parse_batch([WHOLE + CUT], "hermes", incomplete_calls="withhold", finish_reason="length")
    assert [c.status for c in message.tool_calls] == ["complete", "incomplete"]
    assert len(message.to_openai()["tool_calls"]) == 1
    with pytest.raises(ArgumentError, match="use 'forward' or 'withhold'"):
        Parser("hermes", incomplete_calls="drop")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="use 'forward' or 'withhold'"):
        WireWriter("messages", model="m", incomplete_calls="drop")
    with pytest.raises(ArgumentError, match="use 'forward' or 'withhold'"):
        message.to_openai(incomplete_calls="drop")  # type: ignore[arg-type]
