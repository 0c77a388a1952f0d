"""A generator, its model and its streams are freed with their last reference, without the cycle collector."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from unspool import PreCompileConfig, StreamGenerator

PROMPT = "Hello"


@pytest.fixture(autouse=True)
def without_the_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def use(generator: StreamGenerator) -> None:
    options: dict[str, Any] = {"max_new_tokens": 3, "do_sample": False}
    assert list(generator.stream(PROMPT, **options))
    list(generator.stream_prompt(PROMPT, **options))
    generator.process_prompt(PROMPT)
    generator.precompile(PreCompileConfig(1, 8))
    generator.count_tokens(PROMPT)


@pytest.mark.parametrize("backend", ["transformers", "native"])
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
    assert model_ref() is None


def test_a_loaded_generator_too(llama: Any, byte_tokenizer: Any, tmp_path: Any) -> None:
    model = copy.deepcopy(llama)
    StreamGenerator(model, byte_tokenizer, format="none").save_inference(tmp_path)
    generator = StreamGenerator.load_inference(tmp_path, model, byte_tokenizer)
    model_ref = weakref.ref(model)
    del model, generator
    assert model_ref() is None
