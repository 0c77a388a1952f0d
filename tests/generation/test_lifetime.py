"""A generator, its model and its streams are freed with their last reference, without the cycle collector."""

from __future__ import annotations

import contextlib
import copy
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from unspool import StreamGenerator, StreamTimeout

from .helpers import BACKENDS, wait_for

PROMPT = "Hello"
pytestmark = pytest.mark.usefixtures("without_the_collector")


def use(generator: StreamGenerator) -> None:
    options: dict[str, Any] = {"max_new_tokens": 3, "do_sample": False}
    assert list(generator.stream(PROMPT, **options))
    list(generator.stream_prompt(PROMPT, **options))
    generator.count_tokens(PROMPT)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("is_used", [False, True])
def test_del_generator_frees_the_model(llama: Any, byte_tokenizer: Any, backend: Any, is_used: bool) -> None:
    model = copy.deepcopy(llama)
    generator = StreamGenerator(model, byte_tokenizer, backend=backend)
    if is_used:
        use(generator)
    model_ref, generator_ref = weakref.ref(model), weakref.ref(generator)
    del model, generator
    assert generator_ref() is None
    if not is_used:  # transformers' own `generate` leaves cycles
        assert model_ref() is None
    gc.collect()
    assert wait_for(lambda: model_ref() is None), "the thread of a batch leaves soon"


class Plain:
    """A model whose `generate` leaves no cycles of its own, unlike that of transformers.

    Attributes:
        waits: Runs before each token.
    """

    def __init__(self, waits: Callable[[int], object] = lambda _: None) -> None:
        self.waits = waits

    def generate(self, input_ids: Any, streamer: Any, stopping_criteria: Any, **_: Any) -> None:
        streamer.put(input_ids)
        for step in range(9):
            self.waits(step)
            streamer.put(torch.tensor([66]))
            if stopping_criteria(torch.tensor([[66]]), None).all():
                return


def test_a_stream_that_was_read_keeps_nothing(byte_tokenizer: Any) -> None:
    model = Plain()
    generator = StreamGenerator(model, byte_tokenizer)
    model_ref = weakref.ref(model)
    assert [delta.kind for delta in generator.stream(PROMPT)] == ["content"] * 9 + ["finish"]
    assert len(generator.generate(PROMPT).token_ids) == 9
    assert "".join(generator.stream_prompt(PROMPT))
    del model, generator
    assert wait_for(lambda: model_ref() is None)


@pytest.mark.parametrize("leave", ["drop", "close", "timeout"])
def test_an_abandoned_stream_keeps_nothing(byte_tokenizer: Any, leave: str) -> None:
    go_on = threading.Event()
    model = Plain(lambda step: step == 3 and go_on.wait(10))
    generator = StreamGenerator(model, byte_tokenizer)
    model_ref = weakref.ref(model)
    stream = generator.stream(PROMPT, timeout=0.1 if leave == "timeout" else None)
    assert next(stream).text
    if leave == "close":
        stream.close()
    elif leave == "timeout":
        with pytest.raises(StreamTimeout):
            list(stream)
    del stream, generator
    assert model_ref() is not None  # it is in a step
    del model
    go_on.set()
    assert wait_for(lambda: model_ref() is None)


def test_an_error_that_was_handled_keeps_nothing(byte_tokenizer: Any) -> None:
    def fail(step: int) -> None:
        if step == 2:
            raise MemoryError("no room")

    model = Plain(fail)
    generator = StreamGenerator(model, byte_tokenizer)
    model_ref = weakref.ref(model)
    with pytest.raises(MemoryError):
        generator.generate(PROMPT)
    with contextlib.suppress(MemoryError):
        for _ in generator.stream(PROMPT):
            pass
    del model, generator
    assert wait_for(lambda: model_ref() is None)
