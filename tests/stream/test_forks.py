"""`fork()` of a stream: what the copy shares with its origin, and what it does not."""

from __future__ import annotations

import copy
import gc
import sys
from typing import Any

import pytest
from unspool import ArgumentError, DeltaChannel, Parser, StreamError, TokenStreamer
from unspool.streams.parser import ChannelParser

from ..forks import ForkLaw
from ..outputs import TOOLS

TEXT = 'I look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich 👩‍👩‍👧"}}\n</tool_call>'


def texts(deltas: Any) -> list[tuple[str, str]]:
    return [(delta.kind, delta.text) for delta in deltas]


def test_a_fork_is_of_its_origins_class() -> None:
    class Mine(Parser):
        note = ""

    parser = Mine("hermes", reasoning_field="reasoning")
    parser.note = "kept"
    fork = parser.fork()
    assert type(fork) is Mine
    assert fork.note == "kept"
    fork.note = "its own"
    assert parser.note == "kept"
    assert fork.finish().reasoning_field == "reasoning"


def test_the_message_so_far_is_the_forks_too() -> None:
    parser = Parser("hermes", TOOLS, id_seed=1)
    parser.parse_chunk(TEXT[:-20])
    fork = parser.fork()
    assert fork.message == parser.message
    fork.parse_chunk("!")
    assert fork.message != parser.message
    parser.parse_chunk(TEXT[-20:])
    assert parser.finish().tool_calls[0].arguments == '{"city": "Zürich 👩‍👩‍👧"}'
    assert fork.finish("length").tool_calls[0].status == "incomplete"


def test_a_fork_of_a_fork_outlives_both() -> None:
    parser = Parser("qwen3_coder", TOOLS, keep_message=False)
    parser.parse_chunk("<tool_call>\n<function=get_weather>\n<parameter=city>\nPa")
    grandchild = parser.fork().fork()
    del parser
    gc.collect()
    deltas = grandchild.parse_chunk("ris\n</parameter>\n</function>\n</tool_call>")
    assert texts(deltas) == [("tool_call_arguments", 'ris"}'), ("tool_call_end", "")]


@pytest.mark.parametrize("options", [{}, {"stop": ["Zü"], "stop_in": "everywhere"}, {"labels": True}])
def test_ids_of_a_real_tokenizer(deepseek: Any, options: dict[str, Any]) -> None:
    ids = deepseek.encode(TEXT)
    law = ForkLaw(
        lambda: TokenStreamer(deepseek.vocabulary, "hermes", TOOLS, id_seed=3, **options),
        lambda streamer, chunk: streamer.put(chunk),
        ids,
        deepseek.encode(" world\n<tool_call>{"),
    )
    law.check(range(len(ids) + 1))


def test_text_and_ids_together(deepseek: Any) -> None:
    def chunks(text: str) -> list[tuple[bytes, int]]:
        """Each id with the text of the one before it."""
        ids = deepseek.encode(text)
        pieces = [b"", *(deepseek.vocabulary.token_bytes(id) for id in ids)]
        return list(zip(pieces, ids, strict=False))

    def put(parser: Parser, given: list[tuple[bytes, int]]) -> list[Any]:
        return [delta for text, id in given for delta in parser.parse_chunk(text, [id])]

    output = chunks(TEXT)
    law = ForkLaw(
        lambda: Parser("hermes", TOOLS, tokenizer=deepseek.vocabulary, id_seed=3, audit=True),
        put,
        output,
        chunks("and something else"),
    )
    law.check(range(len(output) + 1))


def test_a_fork_of_a_stream_with_a_channel(deepseek: Any) -> None:
    channel, other = DeltaChannel(), DeltaChannel()
    streamer = TokenStreamer(deepseek.vocabulary, "hermes", channel=channel)
    streamer.put(deepseek.encode("Hello"))
    with pytest.raises(ArgumentError, match="pass channel="):
        streamer.fork()
    fork = streamer.fork(channel=other, choice=1)
    fork.put(deepseek.encode(" there"))
    fork.end()
    streamer.put(deepseek.encode(" you"))
    streamer.end()
    assert [(delta.text, delta.choice) for delta in channel] == [("Hello", 0), (" you", 0), ("", 0)]
    assert [(delta.text, delta.choice) for delta in other] == [(" there", 1), ("", 1)]


def test_a_fork_may_go_into_a_channel_that_its_origin_does_not_have() -> None:
    channel = DeltaChannel()
    parser = ChannelParser("hermes", channel=None)
    fork = parser.fork(channel=channel)
    assert fork.parse_chunk("Hi") == []
    assert texts(parser.parse_chunk("Ho")) == [("content", "Ho")]
    assert channel.get().text == "Hi"


def test_copy_says_what_to_call() -> None:
    with pytest.raises(TypeError, match=r"call its fork\(\) for a copy"):
        copy.copy(Parser("hermes"))


def test_a_finished_stream_has_finished_forks() -> None:
    parser = Parser("hermes", TOOLS)
    parser.parse(TEXT)
    fork = parser.fork()
    assert fork.is_finished
    assert fork.message == parser.message
    with pytest.raises(StreamError):
        fork.parse_chunk("more")


@pytest.mark.parametrize(
    ("arguments", "options"), [((DeltaChannel(),), {}), ((), {"chanel": None}), ((), {"channel": 3})]
)
def test_bad_arguments(arguments: Any, options: Any) -> None:
    with pytest.raises(TypeError):
        Parser("hermes").fork(*arguments, **options)


def test_bad_choice() -> None:
    with pytest.raises((ArgumentError, TypeError)):
        Parser("hermes").fork(choice=-1)


def test_forks_leave_no_references_behind() -> None:
    parser = Parser("hermes", TOOLS)
    gc.collect()  # which adds up what each thread has counted, where there is no GIL
    before = sys.getrefcount(parser), sys.getrefcount(Parser)
    for _ in range(100):
        parser.fork().parse_chunk(TEXT)
    gc.collect()
    assert (sys.getrefcount(parser), sys.getrefcount(Parser)) == before
