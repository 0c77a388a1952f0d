"""The worker's end: errors that are let go, errors that look like an end, and the interpreter's exit."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import unspool
from unspool import StreamGenerator, iterate_streamer

from .helpers import BACKENDS

PROMPT = "Tell me a story."


def fail_with(error: BaseException) -> Callable[[Any, Any], Any]:
    """A logits processor that raises in its third step."""
    steps = []

    def process(_: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        steps.append(1)
        if len(steps) == 3:
            raise error
        return scores

    return process


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_stream_that_failed_is_let_go(llama: Any, byte_tokenizer: Any, backend: str) -> None:
    generator = StreamGenerator(llama, byte_tokenizer, backend=backend)

    def consume() -> weakref.ref[Any]:
        stream = generator.stream(
            PROMPT, logits_processor=[fail_with(RuntimeError("broke"))], max_new_tokens=5, do_sample=False
        )
        with pytest.raises(RuntimeError, match="broke"):
            list(stream)
        return weakref.ref(stream)

    refs = [consume() for _ in range(3)]
    gc.collect()
    assert [ref() for ref in refs] == [None] * 3


@pytest.mark.parametrize("kind", [StopIteration, StopAsyncIteration])
def test_a_stop_iteration_of_the_model_is_no_end(llama: Any, byte_tokenizer: Any, kind: Any) -> None:
    """Such as `next(model.parameters())` of a model that has none."""
    generator = StreamGenerator(llama, byte_tokenizer)

    def options() -> Any:
        return {"logits_processor": [fail_with(kind())], "max_new_tokens": 5, "do_sample": False}

    async def consume() -> None:
        async for _ in generator.astream(PROMPT, **options()):
            pass

    def generate() -> None:
        raise kind

    for run in (
        lambda: list(generator.stream(PROMPT, **options())),
        lambda: list(generator.stream_prompt(PROMPT, **options())),
        lambda: generator.generate(PROMPT, **options()),
        lambda: asyncio.run(consume()),
        lambda: list(iterate_streamer(Silent(), generate)),
    ):
        with pytest.raises(RuntimeError, match=f"the model raised {kind.__name__}") as raised:
            run()
        assert isinstance(raised.value.__cause__, kind)


class Silent:
    def put(self, value: Any) -> None: ...

    def end(self) -> None: ...

    def __iter__(self) -> Any:
        return iter(())


def test_the_interpreter_exits_while_a_model_runs() -> None:
    code = """
import threading, torch, unspool
from unspool import iterate_streamer
started = threading.Event()
cancel = threading.Event()
class Streamer:
    def put(self, value): ...
    def end(self): ...
    def __iter__(self): return iter(())
def generate():
    weights = torch.randn(64, 64)
    while not cancel.is_set():
        weights = torch.tanh(weights @ weights)
        started.set()
texts = iterate_streamer(Streamer(), generate, cancel=cancel)
started.wait(30)
"""
    path = str(Path(unspool.__file__).parents[1])
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            capture_output=True,
            env={"PYTHONPATH": path},
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")


def test_the_exit_waits_for_what_a_job_leaves_behind() -> None:
    """Its channel has ended before: a tensor that is freed after the interpreter's end aborts the process."""
    code = """
import functools, time
from unspool import DeltaChannel
from unspool.generation.worker import GenerationWorker
class Tensors:
    def __del__(self):
        time.sleep(0.3)
        print("freed", flush=True)
channel = DeltaChannel()
worker = GenerationWorker(channel, functools.partial(lambda tensors: None, Tensors()))
worker.start()
assert channel.get(30) is None
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    assert done.stdout == b"freed\n"
