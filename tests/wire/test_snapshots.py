"""`WireWriter.snapshot()`: a restored writer's bytes follow those that were written."""

from __future__ import annotations

from typing import Any

import pytest
from unspool import ArgumentError, Delta, WireWriter
from unspool.testing import Case

from .answers import PROTOCOLS, one_case_in_three, parse

OPTIONS: dict[str, Any] = {"model": "test-model", "extra": {"service_tier": "flex"}}


def moved(writer: WireWriter, **options: Any) -> WireWriter:
    snapshot = writer.snapshot()
    restored = WireWriter.restore(snapshot, writer.protocol, **options)
    assert restored.snapshot() == snapshot
    assert (restored.id, restored.created) == (writer.id, writer.created)
    return restored


def rest(writer: WireWriter, batches: list[list[Delta]]) -> bytes:
    return b"".join(writer.write(batch) for batch in batches) + writer.end()


@one_case_in_three
def test_at_every_delta(case: Case) -> None:
    raw = case.input.encode()
    batches = [batch for batch in parse(case, [raw[i : i + 5] for i in range(0, len(raw), 5)])[0] if batch]
    for number, protocol in enumerate(PROTOCOLS):
        options = {**OPTIONS, "incomplete_calls": "withhold" if number % 2 else "forward"}
        writer = WireWriter(protocol, **options)
        for place, batch in enumerate(batches):
            if place % 3 == number % 3:
                restored = moved(writer, **options)
                assert rest(restored, batches[place:]) == rest(writer.fork(), batches[place:]), place
            writer.write(batch)
        assert moved(writer, **options).end() == writer.end()


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != "responses"])
def test_at_rest_it_is_short(protocol: str) -> None:
    writer = WireWriter(protocol, **OPTIONS)
    for _ in range(500):
        writer.write(Delta("content", text="hello there "))
    assert len(writer.snapshot()) < 256


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_response_in_one_piece_with_logprobs(protocol: str) -> None:
    writer = WireWriter(protocol, **OPTIONS, stream=False)
    writer.add_logprobs(0, [("Hello", -0.5, [("Hi", -1.5)]), (b"\xff", -0.25)])
    writer.write([Delta("content", text="Hello"), Delta("content", text=" there")])
    restored = moved(writer, **OPTIONS, stream=False)
    for one in (writer, restored):
        one.write([Delta("content", text=" you"), Delta("finish", finish_reason="stop")])
    assert restored.body() == writer.body()


def test_what_is_refused() -> None:
    snapshot = WireWriter("messages", **OPTIONS).snapshot(key=b"k" * 16)
    with pytest.raises(ArgumentError, match="another key"):
        WireWriter.restore(snapshot, "messages", **OPTIONS)
    with pytest.raises(ArgumentError, match="of messages, not responses"):
        WireWriter.restore(snapshot, "responses", key=b"k" * 16, **OPTIONS)
    with pytest.raises(ArgumentError, match="another choice of options"):
        WireWriter.restore(snapshot, "messages", key=b"k" * 16, model="other")
    with pytest.raises(ArgumentError, match="id or created is not that of the snapshot"):
        WireWriter.restore(snapshot, "messages", key=b"k" * 16, id="msg_other", **OPTIONS)


def test_false_bytes_do_no_harm() -> None:
    import random

    from unspool.core.stream.snapshots import seal, unseal

    rng = random.Random(4)
    refused = 0
    for protocol in PROTOCOLS:
        writer = WireWriter(protocol, **OPTIONS)
        writer.write([Delta("content", text="Hello"), Delta("tool_call_begin", index=0, id="a", name="f")])
        state = unseal(protocol, writer.snapshot(), b"")
        for _ in range(400):
            changed = bytearray(state)
            changed[rng.randrange(len(changed))] = rng.choice((0, 1, 2, 0x7F, 0xFF, rng.randrange(256)))
            try:
                restored = WireWriter.restore(seal(protocol, bytes(changed), b""), protocol, **OPTIONS)
                restored.write(
                    [Delta("tool_call_arguments", index=0, text="{}"), Delta("tool_call_end", index=0)]
                )
                restored.write(Delta("finish", finish_reason="stop"))
                restored.end()
            except (ValueError, RuntimeError):
                refused += 1
    assert refused > 200
