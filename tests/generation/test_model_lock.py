"""A hook's state is seen by its own generation alone, whatever else runs on the model."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from unspool import ConditioningHook, StreamGenerator

from .helpers import HeldModel, wait_for

PROMPT = "Hello"


class Shift(ConditioningHook):
    """Makes the model write another id while it is set up."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def setup(self, inputs: Any) -> None:  # noqa: ARG002
        self.model.id = 66

    def cleanup(self) -> None:
        self.model.id = 65


def make(model: Any, tokenizer: Any) -> tuple[StreamGenerator, StreamGenerator]:
    """Without a hook, and with one."""
    return StreamGenerator(model, tokenizer), StreamGenerator(model, tokenizer, hook=Shift(model))


@pytest.mark.parametrize("plain_is_first", [True, False])
def test_a_generator_without_a_hook_does_not_see_its_state(byte_tokenizer: Any, plain_is_first: bool) -> None:
    model = HeldModel()
    plain, hooked = make(model, byte_tokenizer)
    first, second = (plain, hooked) if plain_is_first else (hooked, plain)
    running = first.stream(PROMPT)
    assert model.entered.acquire(timeout=5)
    waiting = second.stream(PROMPT)
    assert not model.entered.acquire(timeout=0.1)  # it waits for the first one's end
    model.go_on.set()
    list(running)
    list(waiting)
    ids = [stream.result.token_ids for stream in (running, waiting)]
    assert ids == ([(65, 65), (66, 66)] if plain_is_first else [(66, 66), (65, 65)])


def test_generators_without_a_hook_run_side_by_side(byte_tokenizer: Any) -> None:
    model = HeldModel()
    plain = StreamGenerator(model, byte_tokenizer)
    streams = [plain.stream(PROMPT) for _ in range(3)]
    for _ in streams:
        assert model.entered.acquire(timeout=5)
    model.go_on.set()
    for stream in streams:
        list(stream)


def test_a_hook_gets_its_turn_though_others_keep_coming(byte_tokenizer: Any) -> None:
    model = HeldModel()
    plain, hooked = make(model, byte_tokenizer)
    running = plain.stream(PROMPT)
    assert model.entered.acquire(timeout=5)
    waiting = hooked.stream(PROMPT)
    time.sleep(0.1)
    late = plain.stream(PROMPT)
    assert not model.entered.acquire(timeout=0.1)
    model.go_on.set()
    for stream in (running, waiting, late):
        list(stream)
    assert waiting.result.token_ids == (66, 66)
    assert late.result.token_ids == (65, 65)


def test_a_consumer_may_leave_while_it_waits(byte_tokenizer: Any) -> None:
    model = HeldModel()
    plain, hooked = make(model, byte_tokenizer)
    running = hooked.stream(PROMPT)
    assert model.entered.acquire(timeout=5)
    waiting = plain.stream(PROMPT)
    waiting.close()
    assert wait_for(lambda: not waiting.is_running)
    model.go_on.set()
    list(running)
    assert list(plain.stream(PROMPT))


def test_a_model_without_weak_references_runs(byte_tokenizer: Any) -> None:
    class Slotted:
        __slots__ = ()

        def generate(self, input_ids: Any, streamer: Any, **_: Any) -> None:
            streamer.put(input_ids)
            streamer.put(torch.tensor([65]))

    model = Slotted()
    assert StreamGenerator(model, byte_tokenizer).generate(PROMPT).token_ids == (65,)
