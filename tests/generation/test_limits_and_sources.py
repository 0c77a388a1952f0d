"""What a call, its generation config, the config and the model say together."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from transformers import GenerationConfig
from unspool import ArgumentError, GenerationDefaults, SamplingParams, StreamGenerator, generate

from ..tiny_models import make_llama
from .helpers import BACKENDS

PROMPT = "Tell me."
END = 67


def alphabet() -> Any:
    """A logits processor that writes ids 65, 66, …."""
    steps = []

    def process(_: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        forced = torch.full_like(scores, float("-inf"))
        forced[:, 65 + len(steps)] = 0
        steps.append(1)
        return forced

    return {"logits_processor": [process]}


@pytest.fixture(params=BACKENDS)
def generator(request: pytest.FixtureRequest, llama: Any, byte_tokenizer: Any) -> Any:
    return StreamGenerator(llama, byte_tokenizer, backend=request.param)


def test_an_end_token_of_the_config_goes_before_the_models(generator: Any) -> None:
    config = GenerationDefaults(eos_token_id=END)
    own = StreamGenerator(generator.model, generator.tokenizer, backend=generator.backend, config=config)
    result = own.generate(PROMPT, do_sample=False, **alphabet())
    assert (result.token_ids, result.finish_reason) == ((65, 66, END), "stop")


@pytest.mark.parametrize("eos", [66, [66, 90], torch.tensor([66, 90])])
def test_an_end_token_of_the_call_goes_before_all(generator: Any, eos: Any) -> None:
    given = GenerationConfig(eos_token_id=END, max_new_tokens=5)
    for options in ({"eos_token_id": eos}, {"eos_token_id": eos, "generation_config": given}):
        result = generator.generate(PROMPT, do_sample=False, **options, **alphabet())
        assert result.token_ids == (65, 66)


def test_a_generation_config_of_the_call_limits_it(generator: Any) -> None:
    end = generator.tokenizer.eos_token_id
    length = len(generator.tokenizer(PROMPT)["input_ids"])
    for given in (
        GenerationConfig(max_new_tokens=5, eos_token_id=end),
        GenerationConfig(max_length=length + 5, eos_token_id=end),
    ):
        for options in ({}, {"sampling": {"seed": 1}}):
            result = generator.generate(
                PROMPT, generation_config=given, do_sample=False, **options, **alphabet()
            )
            assert (len(result.token_ids), result.finish_reason) == (5, "length")
    given = GenerationConfig(max_new_tokens=5, eos_token_id=END)
    result = generator.generate(
        PROMPT, generation_config=given, do_sample=False, max_new_tokens=2, **alphabet()
    )
    assert len(result.token_ids) == 2


def test_a_generation_config_of_the_call_asks_for_several_answers(generator: Any) -> None:
    given = GenerationConfig(num_return_sequences=2, do_sample=True, max_new_tokens=4)
    assert len(generator.generate(PROMPT, generation_config=given).choices) == 2


def test_generate_takes_the_limit_of_sampling_params(llama: Any, byte_tokenizer: Any) -> None:
    for sampling in (SamplingParams(max_tokens=3), {"max_tokens": 3}):
        stream = generate(llama, byte_tokenizer, PROMPT, sampling=sampling, do_sample=False)
        list(stream)
        assert stream.result.usage.completion_tokens == 3


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"max_length": 0}, ArgumentError, "max_length is 0"),
        ({"max_length": -5}, ArgumentError, "max_length is -5"),
        ({"max_length": 2.5}, TypeError, "pass an integer"),
        ({"generation_config": GenerationConfig(stop_strings=["a"])}, ArgumentError, "pass stop="),
        ({"generation_config": GenerationConfig(num_return_sequences=2, do_sample=True, num_beams=2)},
         ArgumentError, "num_beams"),
    ],
)  # fmt: skip
def test_refused_at_the_call(generator: Any, options: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        generator.stream(PROMPT, **options)


def test_a_prompt_that_fills_max_length(generator: Any) -> None:
    with pytest.raises(ValueError, match="max_length"):
        generator.generate(PROMPT, max_length=3, do_sample=False)


def test_a_seed_is_no_reason_to_warn(byte_tokenizer: Any) -> None:
    model = make_llama(byte_tokenizer)
    model.generation_config.update(do_sample=True, temperature=0.7, top_p=0.9, top_k=20)
    ids = []
    for backend in BACKENDS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            generator = StreamGenerator(model, byte_tokenizer, backend=backend)
            ids.append(generator.generate(PROMPT, seed=3, max_new_tokens=8).token_ids)
    assert ids[0] == ids[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_generation_config_is_changed(byte_tokenizer: Any, backend: Any) -> None:
    """What a request asks for is the request's: the model's own config serves the next one as well."""
    model = make_llama(byte_tokenizer)
    given = GenerationConfig(do_sample=True, temperature=0.5, max_new_tokens=4)
    before = (model.generation_config.to_dict(), given.to_dict())
    config, own = model.generation_config, GenerationDefaults(max_new_tokens=3, eos_token_id=[1, 2])
    generator = StreamGenerator(model, byte_tokenizer, backend=backend, config=own)
    for options in (
        {"max_new_tokens": 2, "do_sample": True, "temperature": 0.7, "top_p": 0.9, "seed": 3},
        {"n": 2, "do_sample": True},
        {"sampling": {"temperature": 0, "max_tokens": 2}},
        {"generation_config": given, "top_k": 5},
    ):
        generator.generate(PROMPT, **options)
    assert model.generation_config is config
    assert (config.to_dict(), given.to_dict()) == before
