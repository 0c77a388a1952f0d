"""`rollback()`: what it takes back, what it says, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from unspool import ArgumentError, DeltaChannel, Parser, StreamError, TokenStreamer

from ..forks import RollbackLaw
from ..outputs import TOOLS

TEXT = 'I look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich 👩‍👩‍👧"}}\n</tool_call>'


def text_of(deltas: Any) -> str:
    return "".join(delta.text for delta in deltas)


def make(deepseek: Any, window: int = 4, **options: Any) -> TokenStreamer:
    return TokenStreamer(deepseek.vocabulary, "hermes", TOOLS, rollback_window=window, **options)


def test_drafts_that_are_not_accepted(deepseek: Any) -> None:
    """Of three drafted ids one is accepted; the deltas of the put are replaced by its own."""
    accepted, wrong = deepseek.encode("Hello"), deepseek.encode(" dear friend")
    streamer = make(deepseek)
    assert text_of(streamer.put([*accepted, *wrong])) == "Hello dear friend"
    assert text_of(streamer.rollback(len(wrong))) == "Hello"
    assert text_of(streamer.put(deepseek.encode(" world"))) == " world"
    assert streamer.finish().content == "Hello world"


def test_a_call_that_was_announced_is_taken_back(deepseek: Any) -> None:
    begin = deepseek.encode('Hm\n<tool_call>\n{"name": "now", "arguments')
    end = deepseek.encode('": {"a": 1')
    streamer = make(deepseek, 64)
    streamer.put(begin)
    streamer.put(end)
    assert len(streamer.message.tool_calls) == 1
    assert streamer.rollback(len(end)) == []
    assert streamer.rollback(len(begin)) == []
    assert streamer.message.tool_calls == ()
    assert text_of(streamer.put(deepseek.encode("Hi"))) == "Hi"
    assert streamer.finish().content == "Hi"


@pytest.mark.parametrize(
    "options",
    [{}, {"stop": ["Zü"], "stop_in": "everywhere"}, {"labels": True, "incomplete_calls": "withhold"}],
)
def test_ids_of_a_real_tokenizer(deepseek: Any, options: dict[str, Any]) -> None:
    law = RollbackLaw(
        lambda: make(deepseek, 8, id_seed=3, **options),
        range(9),
        deepseek.encode(TEXT),
        deepseek.encode(" world\n<tool_call>{"),
    )
    law.check((1, 3))
    assert law.count > 100


def test_a_stop_string_is_taken_back(deepseek: Any) -> None:
    streamer = make(deepseek, stop=["###"])
    streamer.put(deepseek.encode("a"))
    stop = deepseek.encode("###")
    streamer.put(stop)
    assert streamer.is_stopped
    streamer.rollback(len(stop))
    assert not streamer.is_stopped
    assert text_of(streamer.put(deepseek.encode("b"))) == "b"


def test_the_prompt_stays(deepseek: Any) -> None:
    streamer = TokenStreamer(deepseek.vocabulary, "deepseek_r1", rollback_window=3, skip_prompt=True)
    streamer.put(deepseek.encode("<｜Assistant｜><think>\n"))
    (hm,) = deepseek.encode("hm")
    streamer.put(hm)
    assert streamer.rollback(1) == []
    streamer.put(hm)
    assert streamer.region == "reasoning"
    assert streamer.finish().reasoning == "hm"


def test_a_window_holds_the_last_ids_however_many_came(deepseek: Any) -> None:
    (a,) = deepseek.encode("a")
    streamer = make(deepseek, 4)
    for place in range(200):
        streamer.put(a)
        streamer.rollback(min(place, 3))
        for _ in range(min(place, 3)):
            streamer.put(a)
        with pytest.raises(ArgumentError, match="rollback of 5 ids; the last"):
            streamer.rollback(5)
    assert streamer.token_count == 200
    assert streamer.finish().content == "a" * 200


def test_what_is_refused(deepseek: Any) -> None:
    (a,) = deepseek.encode("a")
    with pytest.raises(ArgumentError, match="pass rollback_window="):
        Parser("hermes").rollback(1)
    streamer = make(deepseek)
    with pytest.raises(ArgumentError, match="rollback of 1 ids; the last 0"):
        streamer.rollback(1)
    for text, ids in (("a", None), ("a", [a]), ("", [a])):
        with pytest.raises(ArgumentError, match="reads token ids alone"):
            streamer.parse_chunk(text, ids)
    with pytest.raises(ArgumentError, match="count is negative"):
        streamer.rollback(-1)
    with pytest.raises(TypeError):
        streamer.rollback("1")  # type: ignore[arg-type]
    streamer.put(a)
    with pytest.raises(ArgumentError, match="rollback of 2 ids; the last 1 can"):
        streamer.rollback(2)
    assert streamer.rollback(0) == []
    assert streamer.finish().content == "a"
    with pytest.raises(StreamError, match="before its end"):
        streamer.rollback(1)


def test_a_channel_takes_nothing_back(deepseek: Any) -> None:
    with pytest.raises(ArgumentError, match="a rollback_window or a channel"):
        make(deepseek, channel=DeltaChannel())
    with pytest.raises(ArgumentError, match="a rollback_window or a channel"):
        make(deepseek).fork(channel=DeltaChannel())


def test_a_fork_takes_back_by_itself(deepseek: Any) -> None:
    ids = deepseek.encode("one two three")
    streamer = make(deepseek)
    for id in ids:
        streamer.put(id)
    fork = streamer.fork()
    fork.rollback(1)
    fork.put(deepseek.encode(" four"))
    streamer.rollback(2)
    assert fork.finish().content == "one two four"
    assert streamer.finish().content == "one"
