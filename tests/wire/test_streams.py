"""Every protocol's stream, read by strict readers, is the parser's message, however the output was cut."""

from __future__ import annotations

import random

import pytest
from unspool import Delta, Parser
from unspool.streams.parser import ChannelParser
from unspool.testing import Case, byte_splits
from unspool.testing.wire import assemble, differences

from .answers import PROTOCOLS, each_case, each_protocol, parse, stream


@each_case
def test_case_at_every_split(case: Case) -> None:
    seen: set[tuple[tuple[Delta, ...], ...]] = set()
    for pieces in byte_splits(case.input.encode()):
        batches, message = parse(case, pieces)
        key = tuple(tuple(batch) for batch in batches if batch)
        if key in seen:  # another split that gave the same deltas gives the same bytes
            continue
        seen.add(key)
        for protocol in PROTOCOLS:
            (answer,) = assemble(protocol, stream(protocol, batches))
            assert not (found := differences(protocol, answer, message)), (protocol, pieces, found)


@pytest.mark.parametrize("protocol", ["chat_completions", "completions", "open_inference", "google"])
def test_answers_side_by_side(protocol: str) -> None:
    """Three answers whose deltas are mixed: each is whole, and call numbers restart."""
    texts = [
        '<think>a</think>one<tool_call>{"name": "now", "arguments": {}}</tool_call>',
        "two",
        '<tool_call>{"name": "now", "arguments": {"x": [1, 2]}}</tool_call>and three',
    ]
    rng = random.Random(1)
    for _ in range(30):
        queues: list[list[Delta]] = []
        messages = []
        for choice, text in enumerate(texts):
            parser = ChannelParser("qwen3", channel=None, choice=choice, id_seed=choice + 1)
            size = rng.randint(1, 9)
            cut = [text[place : place + size] for place in range(0, len(text), size)]
            queues.append([delta for piece in cut for delta in parser.parse_chunk(piece)])
            messages.append(parser.finish())
            queues[-1] += messages[-1].deltas
        batches: list[list[Delta]] = []
        while any(queues):
            queue = rng.choice([queue for queue in queues if queue])
            batches.append([queue.pop(0) for _ in range(min(len(queue), rng.randint(1, 4)))])
            if rng.random() < 0.5 and len(batches) > 1:
                batches[-2:] = [batches[-2] + batches[-1]]
        options = {} if protocol == "google" else {"include_usage": True}
        answers = assemble(protocol, stream(protocol, batches, n=3, include_usage=True), n=3, **options)
        for answer, message in zip(answers, messages, strict=True):
            assert not (found := differences(protocol, answer, message)), found


@each_protocol
def test_a_reader_refuses_a_broken_stream(protocol: str) -> None:
    """The readers are no rubber stamps: a frame lost, doubled or moved is noticed."""
    output = '<think>a</think>text<tool_call>{"name": "now", "arguments": {"x": 1}}</tool_call>'
    parser = Parser("qwen3")
    batches = [[delta] for piece in output for delta in parser.parse_chunk(piece)]
    message = parser.finish()
    batches.append(list(message.deltas))
    wire = stream(protocol, batches, include_usage=True)
    options = {} if protocol in ("responses", "messages", "google") else {"include_usage": True}
    (answer,) = assemble(protocol, wire, **options)
    assert not differences(protocol, answer, message)
    frames = [frame + b"\n\n" for frame in wire.split(b"\n\n")[:-1]]
    broken = [frames[:place] + frames[place + 1 :] for place in range(len(frames))]
    broken += [frames[:place] + frames[place : place + 1] + frames[place:] for place in range(len(frames))]
    for changed in broken:
        try:
            (answer,) = assemble(protocol, b"".join(changed), **options)
        except (AssertionError, IndexError, KeyError, ValueError):
            continue
        assert differences(protocol, answer, message), b"".join(changed)
