"""precompile: each shape is run once, whoever asks; and the buckets that this gives."""

from __future__ import annotations

import asyncio
import copy
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from unspool import ArgumentError, ConditioningHook, Vocabulary
from unspool.core.vocabulary import vocabulary_sources
from unspool.generation import active_workers
from unspool.integrations.easydel import InferenceConfig, PreCompileConfig, vInference

from ...generation.helpers import wait_for


class Counted:
    """A model whose forwards are counted, by the shape of their ids."""

    def __init__(self, model: Any) -> None:
        self.model = copy.deepcopy(model)
        self.shapes: list[tuple[int, ...]] = []
        self.in_inference_mode: set[bool] = set()
        self.before: Callable[[], object] = lambda: None
        self.model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _: Any, __: Any, inputs: dict[str, Any]) -> None:
        self.shapes.append(tuple(inputs["input_ids"].shape))
        self.in_inference_mode.add(torch.is_inference_mode_enabled())
        self.before()


@pytest.fixture
def counted(llama: Any) -> Counted:
    return Counted(llama)


@pytest.fixture(params=["transformers", "native"])
def generator(counted: Counted, byte_tokenizer: Any, request: pytest.FixtureRequest) -> vInference:
    return vInference(
        counted.model, byte_tokenizer, backend=request.param, config=InferenceConfig(max_new_tokens=24)
    )


def test_each_shape_is_run_once(generator: Any, counted: Counted) -> None:
    config = PreCompileConfig(batch_size=[1, 2, 3], prefill_length=[16, 32])
    assert generator.precompile(config) is True
    assert counted.shapes == [(1, 16), (2, 32), (3, 32)]
    assert counted.in_inference_mode == {True}
    assert generator.precompiled_shapes == ((1, 16), (2, 32), (3, 32))
    for again in (config, PreCompileConfig([1, 2, 3], [16, 32, 32]), PreCompileConfig(2, 32)):
        assert generator.precompile(again) is True
    assert len(counted.shapes) == 3
    assert generator.precompile(PreCompileConfig(1, [32, 16])) is True
    assert counted.shapes[3:] == [(1, 32)]
    assert active_workers() == 0


def test_no_length_is_the_longest_prompt(generator: Any, counted: Counted) -> None:
    assert generator.model_prefill_length == 1000
    assert generator.precompile(PreCompileConfig())
    assert sum(length for _, length in counted.shapes) == 1000
    assert max(length for _, length in counted.shapes) == 512  # in chunks, as a prompt of that length
    assert generator.precompiled_shapes == ((1, 1000),)
    done = len(counted.shapes)
    assert generator.precompile(PreCompileConfig(1, 1000))
    assert len(counted.shapes) == done


def test_lengths_that_cannot_be(generator: Any, counted: Counted) -> None:
    with pytest.raises(ArgumentError, match="pass at most 1000"):
        generator.precompile(PreCompileConfig(1, 1001))
    with pytest.raises(TypeError, match="pass a PreCompileConfig"):
        generator.precompile({"batch_size": 1})
    assert counted.shapes == []


def test_the_model_must_know_its_length(byte_tokenizer: Any) -> None:
    class Model:
        def generate(self, input_ids: Any, streamer: Any, **_: Any) -> Any:
            streamer.put(input_ids)
            streamer.put(torch.tensor([66]))

    generator = vInference(Model(), byte_tokenizer)
    with pytest.raises(ValueError, match="max_position_embeddings"):
        _ = generator.model_prefill_length
    with pytest.raises(ValueError, match="n_positions"):
        generator.precompile(PreCompileConfig())
    assert generator.precompile(PreCompileConfig(1, 8))


def test_the_global_generator_is_left_alone(generator: Any) -> None:
    before = torch.get_rng_state()
    generator.precompile(PreCompileConfig([1, 4], 16))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_vocabulary_is_compiled_once(
    counted: Counted, byte_tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unspool.core.vocabulary import vocabulary_sources

    compiled = []
    compile_tokenizer = vocabulary_sources._from_hugging_face
    monkeypatch.setattr(
        vocabulary_sources,
        "_from_hugging_face",
        lambda tokenizer: (compiled.append(1), compile_tokenizer(tokenizer))[1],
    )
    tokenizer = copy.deepcopy(byte_tokenizer)
    generator = vInference(counted.model, tokenizer)
    generator.precompile(PreCompileConfig(1, 8))
    assert len(compiled) == 1
    for _ in range(3):
        generator.generate("some text", max_new_tokens=2)
    generator.generate("some text", max_new_tokens=2, n=3, do_sample=True)
    assert len(compiled) == 1
    tokenizer.add_tokens(["<new>"])
    generator.generate("some text", max_new_tokens=2)
    assert len(compiled) == 2


def test_a_hook_conditions_the_warm_up_too(counted: Counted, byte_tokenizer: Any) -> None:
    calls: list[str] = []

    class Hook(ConditioningHook):
        def setup(self, inputs: Any) -> None:
            calls.append(str(tuple(inputs["input_ids"].shape)))

        def cleanup(self) -> None:
            calls.append("cleanup")

    generator = vInference(counted.model, byte_tokenizer, hook=Hook())
    generator.precompile(PreCompileConfig(1, 8))
    assert calls == ["(1, 8)", "cleanup"]


def test_an_encoder_and_decoder(t5: Any, byte_tokenizer: Any) -> None:
    generator = vInference(t5, byte_tokenizer)
    assert generator.precompile(PreCompileConfig(2, 16))
    assert generator.precompiled_shapes == ((2, 16),)


def test_streams_that_start_together_compile_one_vocabulary(
    llama: Any, byte_tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = []
    compile_it = vocabulary_sources._from_hugging_face

    def compile_slowly(tokenizer: Any) -> Vocabulary:
        compiled.append(1)
        time.sleep(0.1)
        return compile_it(tokenizer)

    monkeypatch.setattr(vocabulary_sources, "_from_hugging_face", compile_slowly)
    generator = vInference(llama, copy.deepcopy(byte_tokenizer))
    outputs = asyncio.run(generator.process_prompts_concurrently(["one", "two", "three"], 3))
    assert [output.error for output in outputs] == [None] * 3
    assert len(compiled) == 1


# Several callers


def waits_in_result(thread: threading.Thread) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        if frame.f_code.co_name == "result" and "concurrent" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def call_from_threads(generator: Any, counted: Counted, count: int, fails: bool) -> list[Any]:
    """What `count` callers get; the first is held in its forward until all others wait."""
    entered, go_on = threading.Event(), threading.Event()
    results: list[Any] = []

    def before() -> None:
        entered.set()
        assert go_on.wait(10)
        if fails:
            raise MemoryError("no room")

    def call() -> None:
        try:
            results.append(generator.precompile(PreCompileConfig(1, 16)))
        except BaseException as error:
            results.append(error)

    counted.before = before
    threads = [threading.Thread(target=call) for _ in range(count)]
    threads[0].start()
    assert entered.wait(10)
    for thread in threads[1:]:
        thread.start()
    assert wait_for(lambda: all(waits_in_result(thread) for thread in threads[1:]))
    assert results == []
    go_on.set()
    for thread in threads:
        thread.join(10)
    counted.before = lambda: None
    return results


def test_of_several_callers_one_warms_up_and_the_others_wait(generator: Any, counted: Counted) -> None:
    assert call_from_threads(generator, counted, 5, fails=False) == [True] * 5
    assert counted.shapes == [(1, 16)]


def test_a_failure_is_raised_to_all_and_not_kept(generator: Any, counted: Counted) -> None:
    results = call_from_threads(generator, counted, 4, fails=True)
    assert [type(result) for result in results] == [MemoryError] * 4
    assert len(counted.shapes) == 1
    assert generator.precompiled_shapes == ()
    assert generator.precompile(PreCompileConfig(1, 16)) is True
    assert counted.shapes == [(1, 16)] * 2


def test_what_was_run_before_a_failure_stays_warm(generator: Any, counted: Counted) -> None:
    def break_at_32() -> None:
        if counted.shapes[-1][1] == 32:
            raise MemoryError("no room")

    counted.before = break_at_32
    with pytest.raises(MemoryError):
        generator.precompile(PreCompileConfig(1, [16, 32, 64]))
    assert generator.precompiled_shapes == ((1, 16),)
    counted.before = lambda: None
    generator.precompile(PreCompileConfig(1, [16, 32, 64]))
    assert counted.shapes == [(1, 16), (1, 32), (1, 32), (1, 64)]


# Buckets


def test_the_bucket_is_the_smallest_that_fits(generator: Any) -> None:
    assert generator.choose_bucket(1) is None
    generator.precompile(PreCompileConfig.create_optimized_compo(16, 64))
    expected = {1: 16, 16: 16, 17: 32, 32: 32, 33: 64, 64: 64, 65: None}
    assert {length: generator.choose_bucket(length) for length in expected} == expected


def test_a_prompt_that_is_too_long(generator: Any, byte_tokenizer: Any) -> None:
    generator.precompile(PreCompileConfig(1, [16, 32]))
    text = "".join(chr(65 + number % 26) for number in range(40))
    ids = byte_tokenizer(text)["input_ids"]
    for prompt in (text, ids):
        assert generator.fit_prompt(prompt, too_long="truncate-left") == ids[-32:]
        assert generator.fit_prompt(prompt, too_long="truncate-right") == ids[:32]
        with pytest.raises(ArgumentError, match="40 token ids, and the longest prefill length is 32"):
            generator.fit_prompt(prompt)
    for fitting in (text[:32], text[:3]):
        assert generator.fit_prompt(fitting) == byte_tokenizer(fitting)["input_ids"]
    with pytest.raises(ArgumentError, match="too_long is 'cut'"):
        generator.fit_prompt("a", too_long="cut")
    assert generator.generate(text, max_new_tokens=1).usage.prompt_tokens == 40  # requests are not held to it


def test_without_buckets_the_model_is_the_limit(generator: Any) -> None:
    assert len(generator.fit_prompt("x" * 2000, too_long="truncate-left")) == 1000
    with pytest.raises(ArgumentError, match="cannot be cut"):
        generator.fit_prompt({"inputs_embeds": torch.zeros((1, 3, 32))})
