"""Several answers to one prompt: a streamer for each, one channel for all."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unspool import ArgumentError, ChannelClosedError, Delta, DeltaChannel, Parser, TokenStreamer, Vocabulary

from ..outputs import TOOLS

# Bytes are ids here.
BYTES = Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>'


def without_choice(delta: Delta) -> tuple[Any, ...]:
    return (
        delta.kind,
        delta.text,
        delta.index,
        delta.id,
        delta.name,
        delta.status,
        delta.finish_reason,
        delta.token_span,
        delta.token_ids,
    )


@settings(max_examples=60)
@given(
    answers=st.lists(
        st.sampled_from(["", "Hello.", f"I look. {CALL}", CALL + CALL, "<tool"]), min_size=2, max_size=5
    ),
    data=st.data(),
)
def test_a_shared_channel_holds_each_answer_as_if_alone(answers: list[str], data: st.DataObject) -> None:
    """However the steps of several answers are mixed, one answer's deltas are those of its own stream."""
    channel = DeltaChannel()
    streamers = [
        TokenStreamer(BYTES, "hermes", TOOLS, channel=channel, choice=choice, closes_channel=False, id_seed=5)
        for choice in range(len(answers))
    ]
    rest = [list(answer.encode()) for answer in answers]
    running = list(range(len(answers)))
    while running:
        choice = data.draw(st.sampled_from(running))
        count = data.draw(st.integers(1, 40))
        if rest[choice]:
            assert streamers[choice].put(rest[choice][:count]) == []
            rest[choice] = rest[choice][count:]
        else:
            assert streamers[choice].end() == []
            running.remove(choice)
            assert not channel.is_closed
    channel.close()

    got = defaultdict(list)
    for delta in channel:
        got[delta.choice].append(delta)
    call_ids = [delta.id for deltas in got.values() for delta in deltas if delta.kind == "tool_call_begin"]
    assert len(set(call_ids)) == len(call_ids)
    for choice, answer in enumerate(answers):
        assert [delta.kind for delta in got[choice]].count("finish") == 1
        assert got[choice][-1].kind == "finish"
        whole = Parser("hermes", TOOLS).parse(answer)
        assert "".join(d.text for d in got[choice] if d.kind == "content") == (whole.content or "")
        arguments = "".join(d.text for d in got[choice] if d.kind == "tool_call_arguments")
        assert arguments == "".join(call.arguments for call in whole.tool_calls)
        assert streamers[choice].message.content == whole.content


def test_every_delta_carries_its_choice() -> None:
    """Apart from the choice and the call ids, deltas are those of the first answer."""
    output = list(f"Look. {CALL}!".encode())
    first, third = (TokenStreamer(BYTES, "hermes", TOOLS, choice=choice) for choice in (0, 2))
    ours = [*third.put(output), *third.end()]
    theirs = [*first.put(output), *first.end()]
    assert {delta.choice for delta in ours} == {2}
    assert {delta.choice for delta in theirs} == {0}
    assert [without_choice(d)[:3] for d in ours] == [without_choice(d)[:3] for d in theirs]
    assert {"content", "tool_call_begin", "tool_call_arguments", "tool_call_end", "finish"} == {
        delta.kind for delta in ours
    }


def test_with_a_seed_the_first_choice_keeps_its_ids_and_the_others_have_their_own() -> None:
    def ids(**options: Any) -> tuple[str, ...]:
        streamer = TokenStreamer(BYTES, "hermes", TOOLS, **options)
        return tuple(call.id for call in streamer.parse(list((CALL + CALL).encode())).tool_calls)

    plain = ids(id_seed=7)
    assert plain == tuple(
        call.id for call in Parser("hermes", TOOLS, id_seed=7).parse(CALL + CALL).tool_calls
    )
    assert ids(id_seed=7, choice=0) == plain
    assert ids(id_seed=7, choice=1) == ids(id_seed=7, choice=1)
    every = [id for choice in range(50) for id in ids(id_seed=7, choice=choice)]
    assert len(set(every)) == 100
    assert len(set(ids(choice=1) + ids(choice=1))) == 4  # no seed: random


def test_threads_share_a_small_channel() -> None:
    channel = DeltaChannel(maxsize=2)
    answers = [f"Answer {choice}.\n{CALL}" for choice in range(4)]

    def produce(choice: int) -> None:
        streamer = TokenStreamer(BYTES, "hermes", TOOLS, channel=channel, choice=choice, closes_channel=False)
        for id in answers[choice].encode():
            streamer.put(id)
        streamer.end()

    def produce_all() -> None:
        threads = [threading.Thread(target=produce, args=(choice,), daemon=True) for choice in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        channel.close()

    thread = threading.Thread(target=produce_all, daemon=True)
    thread.start()
    texts: dict[int, str] = defaultdict(str)
    finished = []
    for delta in channel:
        if delta.kind == "content":
            texts[delta.choice] += delta.text
        elif delta.kind == "finish":
            finished.append(delta.choice)
    thread.join(30)
    assert texts == {choice: f"Answer {choice}." for choice in range(4)}
    assert sorted(finished) == [0, 1, 2, 3]


def test_a_streamer_alone_closes_its_channel() -> None:
    for closes, is_closed in (
        ({}, True),
        ({"closes_channel": True}, True),
        ({"closes_channel": False}, False),
    ):
        channel = DeltaChannel()
        streamer = TokenStreamer(BYTES, "hermes", channel=channel, **closes)
        streamer.put(list(b"a"))
        streamer.end()
        assert channel.is_closed is is_closed
        assert [delta.kind for delta in channel.drain()] == ["content", "finish"]
    other = TokenStreamer(BYTES, "hermes", channel=channel, choice=1)
    other.end()
    assert channel.is_closed
    late = TokenStreamer(BYTES, "hermes", channel=channel, choice=2)
    with pytest.raises(ChannelClosedError):
        late.put(list(b"a"))


def test_bad_choices() -> None:
    with pytest.raises(ArgumentError, match="choice is negative; answers are numbered from 0"):
        TokenStreamer(BYTES, "hermes", choice=-1)
    with pytest.raises(ArgumentError, match="choice is above"):
        TokenStreamer(BYTES, "hermes", choice=2**40)
    for choice in (1.0, "1", True, None):
        with pytest.raises(TypeError, match=r"choice is of type \w+; pass an int"):
            TokenStreamer(BYTES, "hermes", choice=choice)  # type: ignore[arg-type]
