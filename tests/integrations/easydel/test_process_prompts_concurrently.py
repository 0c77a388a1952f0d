"""process_prompts_concurrently: order, limits, errors, leaving, and an event loop that goes on."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import threading
import time
from typing import Any

import pytest
from unspool import ArgumentError
from unspool.generation import active_workers
from unspool.generation.worker import GenerationWorker
from unspool.integrations.easydel import InferenceConfig, PromptOutput, vInference

from ...generation.helpers import wait_for

PROMPTS = [f"prompt {number}" for number in range(8)]
ANSWERS = {prompt: prompt.replace("prompt", "🙂 the answer to") for prompt in PROMPTS}


@pytest.fixture(autouse=True)
def _no_worker_is_left() -> Any:
    yield
    assert wait_for(lambda: active_workers() == 0)


@pytest.fixture
def model(scripted: Any) -> Any:
    return scripted(dict(ANSWERS))


@pytest.fixture(params=["transformers", "native"])
def generator(model: Any, byte_tokenizer: Any, request: pytest.FixtureRequest) -> vInference:
    return vInference(
        model.model, byte_tokenizer, backend=request.param, config=InferenceConfig(streaming_chunks=2)
    )


async def collect(events: Any) -> list[Any]:
    return [event async for event in events]


def texts_of(events: list[Any], index: int) -> str:
    return "".join(data for at, kind, data in events if at == index and kind == "text")


# What comes


@pytest.mark.parametrize("limit", [-1, 0, 1, 3, 8, 100])
def test_outputs_are_in_the_order_of_the_prompts(generator: Any, limit: int) -> None:
    told: list[tuple[int, int]] = []
    outputs = asyncio.run(
        generator.process_prompts_concurrently(
            PROMPTS, limit, progress_callback=lambda completed, total: told.append((completed, total))
        )
    )
    assert [output.text for output in outputs] == list(ANSWERS.values())
    assert {output.finish_reason for output in outputs} == {"stop"}
    assert told == [(completed, 8) for completed in range(1, 9)]


@pytest.mark.parametrize("limit", [0, 3, 8])
def test_events_of_each_prompt(generator: Any, limit: int) -> None:
    told: list[tuple[int, int]] = []
    events = asyncio.run(
        collect(
            generator.process_prompts_concurrently(
                PROMPTS, limit, stream=True, progress_callback=lambda *counts: told.append(counts)
            )
        )
    )
    for index, prompt in enumerate(PROMPTS):
        mine = [event for event in events if event[0] == index]
        assert [kind for _, kind, _ in mine[:-1]] == ["text"] * (len(mine) - 1)
        _, kind, output = mine[-1]
        assert kind == "final"
        assert type(output) is PromptOutput
        assert texts_of(events, index) == output.text == ANSWERS[prompt]
        assert "" not in [data for _, _, data in mine]
        assert len(mine) > 5
    assert told == [(completed, 8) for completed in range(1, 9)]


def test_no_prompts(generator: Any) -> None:
    told: list[Any] = []
    options = {"progress_callback": lambda *counts: told.append(counts)}
    assert asyncio.run(generator.process_prompts_concurrently([], 4, **options)) == []
    assert asyncio.run(collect(generator.process_prompts_concurrently([], 4, stream=True, **options))) == []
    assert told == []


def test_texts_are_really_interleaved(generator: Any, model: Any) -> None:
    # Each of two models goes on only when a text of the other has been seen: in turn, or not at all.
    seen = {prompt: threading.Semaphore(0) for prompt in PROMPTS[:2]}
    other = dict(zip(PROMPTS[:2], reversed(PROMPTS[:2]), strict=True))

    def before_step(prompt: str, step: int) -> None:
        if step >= 6 and step % 4 == 2:
            assert seen[other[prompt]].acquire(timeout=10)

    model.before_step = before_step

    async def run() -> list[int]:
        order = []
        async for index, kind, _ in generator.process_prompts_concurrently(PROMPTS[:2], 2, stream=True):
            if kind == "text":
                order.append(index)
            seen[PROMPTS[index]].release()
        return order

    order = asyncio.run(run())
    turns = sum(before != after for before, after in itertools.pairwise(order))
    assert turns >= 3


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("limit", [-3, 1, 3])
def test_no_more_than_so_many_are_in_flight(generator: Any, model: Any, limit: int, stream: bool) -> None:
    most = max(1, limit)
    running: set[str] = set()
    counts: list[int] = []
    lock = threading.Lock()
    full = threading.Barrier(most)

    def before_step(prompt: str, step: int) -> None:
        with lock:
            if step == 0:
                running.add(prompt)
                counts.append(len(running))
            elif step == 10:
                running.discard(prompt)
        if step == 5 and len(model.prompts) <= most:
            full.wait(10)  # so many are there, or nothing goes on

    model.before_step = before_step
    result = generator.process_prompts_concurrently(PROMPTS, limit, stream=stream)
    asyncio.run(collect(result) if stream else result)
    assert max(counts) == most
    assert len(counts) == 8
    if most == 1:
        assert model.prompts == PROMPTS


# Errors


@pytest.mark.parametrize("stream", [False, True])
def test_a_bad_prompt_and_a_broken_model_are_errors_of_their_own(
    generator: Any, model: Any, stream: bool
) -> None:
    def before_step(prompt: str, step: int) -> None:
        if (prompt, step) == (PROMPTS[3], 9):
            raise RuntimeError("it broke")

    model.before_step = before_step
    told: list[Any] = []
    prompts = [PROMPTS[0], "", object(), PROMPTS[3], PROMPTS[4]]
    result = generator.process_prompts_concurrently(
        prompts, 2, stream=stream, progress_callback=lambda *counts: told.append(counts)
    )
    assert told == []
    if stream:
        events = asyncio.run(collect(result))
        ends = {index: (kind, data) for index, kind, data in events if kind != "text"}
        assert len([event for event in events if event[1] != "text"]) == 5
        assert [ends[index][0] for index in range(5)] == ["final", "error", "error", "error", "final"]
        errors = [data if kind == "error" else None for kind, data in (ends[index] for index in range(5))]
        assert texts_of(events, 3) == ANSWERS[PROMPTS[3]][:6]  # an emoji of four bytes, and five letters
        assert texts_of(events, 1) == ""
    else:
        outputs = asyncio.run(result)
        errors = [output.error for output in outputs]
        assert [output.text for output in outputs] == [
            ANSWERS[PROMPTS[0]], None, None, ANSWERS[PROMPTS[3]][:6], ANSWERS[PROMPTS[4]],
        ]  # fmt: skip
        assert [output.finish_reason for output in outputs] == ["stop", "error", "error", "error", "stop"]
    assert errors[0] is None
    assert errors[4] is None
    assert "the prompt is empty" in errors[1]
    assert "type object" in errors[2]
    assert errors[3] == "RuntimeError: it broke"
    assert told == [(completed, 5) for completed in range(1, 6)]


@pytest.mark.parametrize("stream", [False, True])
def test_bad_arguments_raise_at_the_call(generator: Any, stream: bool) -> None:
    call = generator.process_prompts_concurrently
    for prompts in ("text", b"text", {"role": "user"}, 3):
        with pytest.raises(TypeError, match="pass a list of prompts"):
            call(prompts, 2, stream=stream)
    for limit in (None, 1.5, True):
        with pytest.raises(TypeError, match="max_concurrent_requests"):
            call(PROMPTS, limit, stream=stream)
    with pytest.raises(TypeError, match="sampling_params"):
        call(PROMPTS, 2, 3, stream=stream)
    with pytest.raises(ArgumentError, match="greedy"):
        call(PROMPTS, 2, {"n": 2, "temperature": 0}, stream=stream)


@pytest.mark.parametrize("stream", [False, True])
def test_a_callback_that_raises_is_logged(
    generator: Any, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def callback(completed: int, _: int) -> None:
        raise ZeroDivisionError(f"at {completed}")

    result = generator.process_prompts_concurrently(PROMPTS[:3], 2, stream=stream, progress_callback=callback)
    with caplog.at_level(logging.ERROR, logger="unspool"):
        got = asyncio.run(collect(result) if stream else result)
    assert sum(isinstance(item, PromptOutput) or item[1] == "final" for item in got) == 3
    assert [record.name for record in caplog.records] == ["unspool"] * 3
    assert "at 3" in caplog.text


def test_a_bar_on_standard_error(generator: Any, capsys: pytest.CaptureFixture[str]) -> None:
    before = threading.active_count()
    outputs = asyncio.run(generator.process_prompts_concurrently(PROMPTS, 4, progress=True))
    assert len(outputs) == 8
    assert threading.active_count() <= before + 1
    captured = capsys.readouterr()
    assert "8/8" in captured.err
    assert captured.out == ""


# Leaving


@pytest.mark.parametrize("how", ["aclose", "cancel", "drop", "cancel outputs"])
def test_leaving_stops_every_model_within_two_steps(
    generator: Any, model: Any, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def join(*_: Any) -> bool:
        raise AssertionError("the event loop waits for a worker")

    monkeypatch.setattr(GenerationWorker, "join", join)
    steps = dict.fromkeys(PROMPTS, 0)
    go_on = threading.Event()
    model.answers = dict.fromkeys(PROMPTS, "x" * 500)

    def before_step(prompt: str, step: int) -> None:
        steps[prompt] = step + 1
        if step == 5:
            go_on.wait(10)

    model.before_step = before_step

    def all_wait() -> bool:
        return sorted(steps.values()) == [0, 0, 0, 0, 6, 6, 6, 6]

    async def until_all_wait() -> None:
        while not all_wait():
            await asyncio.sleep(0.005)

    async def leave() -> float:
        if how == "cancel outputs":
            task = asyncio.create_task(generator.process_prompts_concurrently(PROMPTS, 4))
            await until_all_wait()
            return await cancelled(task)
        events = generator.process_prompts_concurrently(PROMPTS, 4, stream=True)
        if how == "cancel":
            task = asyncio.create_task(collect(events))
            await until_all_wait()
            return await cancelled(task)
        await anext(events)
        await until_all_wait()
        begin = time.monotonic()
        if how == "aclose":
            await events.aclose()
            assert await anext(events, None) is None
        else:
            del events
            await asyncio.sleep(0.05)
        return time.monotonic() - begin

    async def cancelled(task: asyncio.Task[Any]) -> float:
        begin = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - begin

    took = asyncio.run(leave())
    assert all_wait()  # it was left while all models were stuck in a step
    assert took < 5.0  # at once, where the machine is quiet; a step takes 10 s
    go_on.set()
    assert wait_for(lambda: active_workers() == 0)
    assert sorted(steps.values())[:4] == [0, 0, 0, 0]  # none of those that waited began
    assert all(count <= 8 for count in steps.values())


def test_what_is_never_iterated_runs_nothing(generator: Any, model: Any) -> None:
    events = generator.process_prompts_concurrently(PROMPTS, 4, stream=True)
    asyncio.run(events.aclose())
    assert model.prompts == []


def test_a_slow_consumer_holds_back_nothing_but_itself(generator: Any) -> None:
    async def run() -> list[Any]:
        got = []
        async for event in generator.process_prompts_concurrently(PROMPTS[:3], 3, stream=True):
            got.append(event)
            await asyncio.sleep(0.002)
        return got

    events = asyncio.run(run())
    assert [texts_of(events, index) for index in range(3)] == list(ANSWERS.values())[:3]


# The event loop


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("limit", [0, 8])
def test_a_ticker_keeps_its_beat(
    generator: Any, model: Any, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, pause_s = 2 if limit == 0 else 8, 0.5
    model.answers = dict.fromkeys(PROMPTS, "abc")
    # Where the loop were to wait for a step, or to join a worker, it would stand still for that long.
    model.before_step = lambda *_: time.sleep(pause_s)
    prepare = generator.prepare_stream

    def prepare_slowly(*arguments: Any, **options: Any) -> Any:
        time.sleep(pause_s)  # as a vocabulary that is compiled
        return prepare(*arguments, **options)

    monkeypatch.setattr(generator, "prepare_stream", prepare_slowly)
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            ticks.append(time.monotonic())
            await asyncio.sleep(0.01)

    async def run() -> None:
        ticker = asyncio.create_task(tick())
        async for _ in generator.process_prompts_concurrently(PROMPTS[:count], limit, stream=True):
            pass
        ticker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ticker

    begin = time.monotonic()
    asyncio.run(run())
    took_s = time.monotonic() - begin
    gaps = [later - earlier for earlier, later in itertools.pairwise(ticks)]
    print(f"{len(ticks)} ticks in {took_s:.2f} s, the longest gap {1000 * max(gaps):.0f} ms")
    assert took_s >= 4 * pause_s
    assert max(gaps) < pause_s
    assert len(ticks) >= 0.1 * took_s / 0.01
