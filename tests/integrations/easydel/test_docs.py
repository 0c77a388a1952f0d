"""The code in docs/easydel.md runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from unspool import ArgumentError, SamplingParams
from unspool.integrations import easydel

PAGE = Path(__file__).parents[3] / "docs" / "easydel.md"


BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S) if PAGE.is_file() else []


@pytest.mark.skipif(not BLOCKS, reason="runs in a checkout")
def test_the_page(llama: Any, byte_tokenizer: Any) -> None:
    names: dict[str, Any] = {"model": llama, "tokenizer": byte_tokenizer}
    exec(BLOCKS[0], names)
    assert names["output"].finish_reason in ("stop", "length")


@pytest.mark.skipif(not BLOCKS, reason="runs in a checkout")
def test_the_lines_of_easydels_own_document(llama: Any, byte_tokenizer: Any) -> None:
    TestClient = pytest.importorskip("starlette.testclient").TestClient
    inputs = byte_tokenizer("Explain quantum computing", return_tensors="pt")
    names: dict[str, Any] = {"model": llama, "tokenizer": byte_tokenizer, **inputs}
    exec(BLOCKS[1], names)
    assert len(BLOCKS) == 2
    engine, state = names["inference"], names["response"]
    assert engine.inference_name == "LLaMA"
    assert engine.config.sampling_params == SamplingParams(
        max_tokens=64, temperature=0.8, top_p=0.95, top_k=10, seed=42
    )
    assert engine.precompiled_shapes == ((1, 64), (1, 128))
    assert state.is_sequence_finished
    assert 0 < state.generated_tokens == len(state.sequences[0]) <= 64
    assert state.padded_length == inputs["input_ids"].shape[1]
    with TestClient(names["server"].app) as client:
        assert [model["id"] for model in client.get("/v1/models").json()["data"]] == ["LLaMA"]


def test_generate_yields_states(llama: Any, byte_tokenizer: Any) -> None:
    config = easydel.vInferenceConfig(max_new_tokens=10, streaming_chunks=4, eos_token_id=[999])
    engine = easydel.vInference(llama, processor_class=byte_tokenizer, generation_config=config)
    inputs = byte_tokenizer("Hello", return_tensors="pt")
    for states in (
        engine.generate(**inputs, sampling_params={"temperature": 0}),
        engine.generate(inputs["input_ids"], inputs["attention_mask"], easydel.SamplingParams(temperature=0)),
    ):
        counts = [(state.generated_tokens, state.is_sequence_finished) for state in states]
        assert [count for count, _ in counts][-1] == 10
        assert counts[-1][1] is True
        assert len(counts) >= 2
    assert engine.generate("Hello", sampling_params={"temperature": 0}).usage.completion_tokens == 10


def test_the_names_of_shapes_to_compile() -> None:
    config = easydel.vInferencePreCompileConfig(batch_size=[1, 2], prefill_length=[64, 128, 256])
    assert config.get_standalones() == list(config.expand())
    assert [one.get_default_hash() for one in config.get_standalones()] == [
        one.stable_hash() for one in config.expand()
    ]
    assert config.extract() == {"batch_size": [1, 2], "prefill_length": [64, 128, 256]}
    optimized = easydel.vInferencePreCompileConfig.create_optimized_compo(
        batch_size=1, max_prefill_length=256, min_prefill_length=64
    )
    assert optimized == easydel.PreCompileConfig(1, [64, 128, 256])


def test_a_server_takes_engines_or_a_function(llama: Any, byte_tokenizer: Any) -> None:
    pytest.importorskip("starlette")
    engine = easydel.vInference(llama, byte_tokenizer, max_new_tokens=7, inference_name="mine")
    assert engine.config.max_new_tokens == 7
    for options in (
        {"inference_map": engine},
        {"inference_map": {"mine": engine}},
        {"inference_init_call": lambda: engine, "allow_parallel_workload": True, "oai_like_processor": False},
    ):
        server = easydel.vInferenceApiServer(**options, max_workers=2)
        assert server.app.state.server.options.max_workers == 2
    with pytest.raises(ArgumentError, match="there is no model"):
        easydel.vInferenceApiServer()
    with pytest.raises(AttributeError, match="no attribute 'vInferense'"):
        _ = easydel.vInferense
