"""An engine and its model are freed with their last reference, without the cycle collector."""

from __future__ import annotations

import copy
import weakref
from typing import Any

import pytest
from unspool.integrations.easydel import PreCompileConfig, vInference

pytestmark = pytest.mark.usefixtures("without_the_collector")


def test_del_engine_frees_it(llama: Any, byte_tokenizer: Any) -> None:
    engine = vInference(llama, byte_tokenizer, backend="native")
    engine.process_prompt("Hello")
    engine.precompile(PreCompileConfig(1, 8))
    engine_ref = weakref.ref(engine)
    del engine
    assert engine_ref() is None


def test_a_loaded_generator_too(llama: Any, byte_tokenizer: Any, tmp_path: Any) -> None:
    model = copy.deepcopy(llama)
    vInference(model, byte_tokenizer, format="none").save_inference(tmp_path)
    generator = vInference.load_inference(tmp_path, model, byte_tokenizer)
    model_ref = weakref.ref(model)
    del model, generator
    assert model_ref() is None
