"""Whose word counts: the call's, its sampling parameters', the config's, the model's."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from unspool import ArgumentError, GenerationDefaults, SamplingParams, StreamGenerator
from unspool.generation.settings import read_settings
from unspool.streams.channel_stream import TextGatherer

from .helpers import BACKENDS


def read(model: Any, config: GenerationDefaults | None = None, sampling: Any = None, **options: Any) -> Any:
    return read_settings(model, config or GenerationDefaults(), SamplingParams.read(sampling), options)


def test_an_end_token_of_the_config_goes_before_the_models(llama: Any) -> None:
    own = copy.deepcopy(llama.generation_config)
    own.eos_token_id, own.pad_token_id = 7, 8
    model = llama.generation_config.eos_token_id
    assert model not in (5, 6, 7, 8)
    config = GenerationDefaults(eos_token_id=[5, 9], pad_token_id=6)
    for options, eos, pad in (
        ({}, {5, 9}, 6),
        ({"generation_config": own}, {7}, 8),
        ({"generation_config": own, "eos_token_id": 4}, {4}, 8),
    ):
        settings = read(llama, config, **options)
        assert (settings.eos, settings.pad_token_id) == (frozenset(eos), pad)
    assert read(llama).eos == {model}


def test_an_end_token_of_the_config_ends_the_answer(scripted: Any, byte_tokenizer: Any) -> None:
    comma = byte_tokenizer(",")["input_ids"][0]
    model = scripted({"prompt": "a,b"}).model
    for backend in BACKENDS:
        config = GenerationDefaults(eos_token_id=comma)
        result = StreamGenerator(model, byte_tokenizer, config=config, backend=backend).generate("prompt")
        assert (result.finish_reason, len(result.token_ids)) == ("stop", 2)


def test_sampling_parameters_of_the_config_are_defaults(llama: Any) -> None:
    defaults = SamplingParams(temperature=0.5, max_tokens=9, seed=3, n=2, stop="END", presence_penalty=1)
    config = GenerationDefaults(sampling_params=defaults)
    settings = read(llama, config)
    assert (settings.limit, settings.sampling.seed, settings.n, settings.sampling.stop) == (9, 3, 2, ("END",))
    assert settings.does_sample
    assert settings.options["temperature"] == 0.5
    assert settings.sampling.presence_penalty == 1
    settings = read(llama, config, {"max_tokens": 4, "temperature": 0, "n": 1, "stop": ["x"]})
    assert (settings.limit, settings.sampling.seed, settings.n, settings.sampling.stop) == (4, 3, 1, ("x",))
    assert not settings.does_sample
    settings = read(llama, config, {"max_tokens": 4}, max_new_tokens=5, num_return_sequences=3)
    assert (settings.limit, settings.n) == (5, 3)


def test_defaults_fill_what_is_open() -> None:
    defaults = SamplingParams(temperature=0.5, top_k=3, stop="END")
    assert SamplingParams().with_defaults(defaults) == defaults
    assert SamplingParams().with_defaults(None) == SamplingParams()
    given = SamplingParams(temperature=0, top_k=0, stop=["a"])
    assert given.with_defaults(defaults) == given
    assert given.with_defaults(SamplingParams(seed=0)) == given.replace(seed=0)


def test_a_text_has_at_least_one_token() -> None:
    with pytest.raises(ArgumentError, match="tokens_per_text is 0"):
        TextGatherer(0)
