"""Which tokens may be chosen, and which end an answer: as vLLM's sampling parameters, in both backends."""

from __future__ import annotations

from typing import Any

import pytest
from unspool import ArgumentError, StreamGenerator
from unspool.generation.sampling_params import GenerationDefaults, SamplingParams

from ..tiny_models import make_byte_tokenizer
from .helpers import BACKENDS

LIMIT = 12
A, B, C, BLANK = (make_byte_tokenizer().encode(letter, add_special_tokens=False)[0] for letter in "ABC ")


@pytest.fixture(params=BACKENDS)
def generator(request: pytest.FixtureRequest, llama: Any, byte_tokenizer: Any) -> StreamGenerator:
    return StreamGenerator(llama, byte_tokenizer, format="none", backend=request.param)


def run(
    generator: StreamGenerator, prompt: Any = "Hello", **params: Any
) -> tuple[list[int], str | None, str]:
    params = {"max_tokens": LIMIT, **params}
    choice = generator.generate(prompt, sampling=SamplingParams(**params)).choices[0]
    return list(choice.token_ids), choice.finish_reason, choice.message.content


# Greedy; sampled by generate's own sampler, by ours.
WAYS: list[dict[str, Any]] = [{}, {"temperature": 1.5}, {"temperature": 1.5, "seed": 3, "top_k": 5}]


@pytest.mark.parametrize("way", WAYS)
def test_a_bias_of_100_decides_and_of_minus_100_rules_out(generator: StreamGenerator, way: Any) -> None:
    assert run(generator, logit_bias={A: 100}, **way) == ([A] * LIMIT, "length", "A" * LIMIT)
    first = run(generator)[0][0]
    assert first not in run(generator, logit_bias={first: -100}, **way)[0]


@pytest.mark.parametrize("way", WAYS)
def test_only_allowed_ids_are_chosen(generator: StreamGenerator, byte_tokenizer: Any, way: Any) -> None:
    ids, reason, _ = run(generator, allowed_token_ids=[A, B], **way)
    assert (set(ids) <= {A, B}, len(ids), reason) == (True, LIMIT, "length")
    eos = byte_tokenizer.eos_token_id
    assert run(generator, allowed_token_ids=[A, eos], logit_bias={eos: 100}, **way)[:2] == ([eos], "stop")


@pytest.mark.parametrize("way", WAYS)
def test_an_end_id_counts_from_min_tokens_on(
    generator: StreamGenerator, byte_tokenizer: Any, way: Any
) -> None:
    eos = byte_tokenizer.eos_token_id
    assert run(generator, logit_bias={eos: 100}, **way)[0] == [eos]
    ids, reason, _ = run(generator, logit_bias={eos: 100}, min_tokens=5, **way)
    assert (ids.index(eos), len(ids), reason) == (5, 6, "stop")


@pytest.mark.parametrize("way", WAYS)
def test_the_models_end_can_be_ignored(generator: StreamGenerator, byte_tokenizer: Any, way: Any) -> None:
    eos = byte_tokenizer.eos_token_id
    bias = {eos: 100}
    assert run(generator, logit_bias=bias, ignore_eos=True, **way) == ([eos] * LIMIT, "length", "")
    # Ids that the request names still end it.
    assert run(generator, logit_bias=bias, ignore_eos=True, stop_token_ids=[eos], **way)[0] == [eos]


def test_a_stop_id_ends_the_answer_and_its_text_stays(
    generator: StreamGenerator, byte_tokenizer: Any
) -> None:
    assert run(generator, logit_bias={A: 100}, stop_token_ids=[A, B]) == ([A], "stop", "A")
    special = byte_tokenizer.convert_tokens_to_ids("<image>")
    assert run(generator, logit_bias={special: 100}, stop_token_ids=[special])[1:] == ("stop", "")
    assert run(generator, logit_bias={A: 100}, stop_token_ids=[A], min_tokens=3)[0].index(A) == 3


def test_a_stop_string_and_special_tokens_are_shown_on_demand(
    generator: StreamGenerator, byte_tokenizer: Any
) -> None:
    ask = {"logit_bias": {A: 100}, "stop": "AAA"}
    assert run(generator, **ask)[2] == ""
    assert run(generator, **ask, include_stop=True)[2] == "AAA"
    special = byte_tokenizer.convert_tokens_to_ids("<image>")
    assert run(generator, logit_bias={special: 100}, skip_special_tokens=False)[2] == "<image>" * LIMIT
    assert run(generator, logit_bias={special: 100}, skip_special_tokens=True)[2] == ""


@pytest.mark.parametrize("way", WAYS)
def test_bad_words_are_not_written(generator: StreamGenerator, way: Any) -> None:
    """One token, and the last of several: `AB` may begin, and not end."""
    only = {"allowed_token_ids": [BLANK, A, B, C]}
    for word in ("A", "AB", "ABA"):
        assert word not in run(generator, **only, bad_words=[word], **way)[2]
    forced = {"logit_bias": {A: 60, B: 100}, **way}
    assert run(generator, **forced)[2] == "B" * LIMIT
    assert run(generator, **forced, bad_words=["BB", "AA"])[2] == "BA" * 6


def test_where_no_token_is_left_it_is_said(generator: StreamGenerator, byte_tokenizer: Any) -> None:
    eos = byte_tokenizer.eos_token_id
    for params in (
        {"allowed_token_ids": [eos], "min_tokens": 2},
        {"allowed_token_ids": [A], "bad_words": ["A"]},
    ):
        with pytest.raises(ArgumentError, match="no token is left"):
            run(generator, **params)


def test_what_no_request_can_mean_is_refused_at_once(generator: StreamGenerator) -> None:
    for name, value in (("allowed_token_ids", [A, 10**6]), ("logit_bias", {10**6: 1})):
        with pytest.raises(ArgumentError, match=f"{name} has 1000000; the ids of the vocabulary are below"):
            generator.stream("Hello", sampling=SamplingParams(**{name: value}))
    with pytest.raises(ArgumentError, match="ignore_eos"):
        generator.stream("Hello", sampling=SamplingParams(ignore_eos=True), choice=["a", "b"])


def test_defaults_of_the_config_count(llama: Any, byte_tokenizer: Any) -> None:
    config = GenerationDefaults(max_new_tokens=3, sampling_params=SamplingParams(logit_bias={A: 100}))
    generator = StreamGenerator(llama, byte_tokenizer, format="none", config=config)
    assert generator.generate("Hello").text == "AAA"
    assert generator.generate("Hello", sampling=SamplingParams(logit_bias={B: 100})).text == "BBB"
