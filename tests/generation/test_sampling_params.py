"""Sampling parameters: their ranges, how they are read, what of them reaches `generate`."""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
from unspool import ArgumentError
from unspool.generation.sampling_params import SamplingParams

penalties = st.none() | st.floats(-2, 2)
sampling_params = st.builds(
    SamplingParams,
    max_tokens=st.none() | st.integers(1),
    temperature=st.none() | st.floats(0, allow_infinity=False) | st.integers(0, 2),
    top_p=st.none() | st.floats(0, 1, exclude_min=True),
    top_k=st.none() | st.integers(0),
    min_p=st.none() | st.floats(0, 1),
    presence_penalty=penalties,
    frequency_penalty=penalties,
    repetition_penalty=st.none() | st.floats(0, exclude_min=True, allow_infinity=False),
    seed=st.none() | st.integers(0, 2**64 - 1),
    n=st.none() | st.integers(1),
    stop=st.text(min_size=1) | st.lists(st.text(min_size=1)),
    min_tokens=st.none() | st.integers(0),
    stop_token_ids=st.lists(st.integers(0)),
    ignore_eos=st.none() | st.booleans(),
    bad_words=st.lists(st.text("ab ", min_size=1).filter(str.strip)),
    allowed_token_ids=st.none() | st.lists(st.integers(0), min_size=1),
    logit_bias=st.none() | st.dictionaries(st.integers(0), st.floats(-100, 100)),
    include_stop=st.none() | st.booleans(),
    skip_special_tokens=st.none() | st.booleans(),
)


@given(sampling_params)
def test_parameters_go_through_dicts_and_json_unchanged(params: SamplingParams) -> None:
    assert SamplingParams.from_dict(params.to_dict()) == params
    assert SamplingParams.from_json(params.to_json()) == params
    assert SamplingParams.read(params.to_dict()) == params
    assert hash(SamplingParams.from_json(params.to_json())) == hash(params)


@given(sampling_params)
def test_generate_gets_only_what_was_given(params: SamplingParams) -> None:
    kwargs = params.to_generation_kwargs()
    assert None not in kwargs.values()
    assert kwargs.pop("max_new_tokens", None) == params.max_tokens
    assert kwargs.pop("min_new_tokens", None) == params.min_tokens
    do_sample = kwargs.pop("do_sample", None)
    assert do_sample is (None if params.temperature is None else params.temperature > 0)
    shaping = {"temperature", "top_p", "top_k", "min_p"}
    for name in {"repetition_penalty"} | (set() if do_sample is False else shaping):
        assert kwargs.pop(name, None) == getattr(params, name)
    assert kwargs == {}


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("max_tokens", [1, 10**6], [0, -1]),
        ("temperature", [0, 0.0, 2.5], [-0.1, math.nan, math.inf]),
        ("top_p", [1, 1e-9], [0, 1.0001, -1, math.nan]),
        ("top_k", [0, 50], [-1]),
        ("min_p", [0, 1], [-0.1, 1.1]),
        ("presence_penalty", [-2, 2], [-2.1, 2.1]),
        ("frequency_penalty", [-2, 2], [-2.1, 2.1, math.nan]),
        ("repetition_penalty", [0.1, 3], [0, -1, math.inf]),
        ("seed", [0, 2**64 - 1], [-1, 2**64]),
        ("n", [1, 4], [0, -1]),
        ("stop", ["a", ["a", "b"], ("a",), [], None], ["", [""], ["a", ""]]),
        ("min_tokens", [0, 10**6], [-1]),
        ("stop_token_ids", [[], [0, 5]], [[-1]]),
        ("bad_words", [[], [" a"]], [[""], ["a", " "], ["a"] * 257]),
        ("allowed_token_ids", [[0], (1, 2)], [[], [-1]]),
        ("logit_bias", [{}, {0: -100, "5": 100}], [{-1: 0}, {1: 100.1}, {1: math.nan}]),
    ],
)
def test_ranges(key: str, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        SamplingParams(**{key: value})
    for value in bad:
        with pytest.raises(ArgumentError, match=key):
            SamplingParams(**{key: value})


@pytest.mark.parametrize("field", dataclasses.fields(SamplingParams), ids=lambda field: field.name)
def test_wrong_types(field: dataclasses.Field[Any]) -> None:
    wrong: list[Any] = [[True], object()]
    wrong += [] if "bool" in str(field.type) else [True]
    wrong += [{"a": 1}] if field.name == "logit_bias" else [{}]
    if field.name in ("max_tokens", "top_k", "seed", "n"):
        wrong += [1.0, "1"]
    if field.name == "stop":
        wrong += [3, b"x", ["a", 3], {"a"}]
    for value in wrong:
        with pytest.raises(TypeError, match=field.name):
            SamplingParams(**{field.name: value})


def test_a_stop_text_is_kept_as_a_tuple() -> None:
    assert SamplingParams(stop="END").stop == ("END",)
    assert SamplingParams(stop=["a", "b"]).stop == ("a", "b")
    assert SamplingParams.read({"stop": None}) == SamplingParams()
    assert SamplingParams().to_dict()["stop"] == []


def test_reading_takes_none_parameters_and_mappings() -> None:
    params = SamplingParams(temperature=0.7)
    assert SamplingParams.read(None) == SamplingParams()
    assert SamplingParams.read(params) is params
    assert SamplingParams.read({"temperature": 0.7}) == params
    with pytest.raises(ArgumentError, match="unknown key 'max_new_tokens'; SamplingParams has max_tokens"):
        SamplingParams.read({"max_new_tokens": 3})
    for value in (0.7, "greedy", [("temperature", 0.7)]):
        with pytest.raises(TypeError, match="pass SamplingParams, a mapping or None"):
            SamplingParams.read(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("params", "kwargs"),
    [
        ({}, {}),
        ({"temperature": 0}, {"do_sample": False}),
        ({"temperature": 0, "top_p": 0.9, "top_k": 5, "min_p": 0.1}, {"do_sample": False}),
        ({"temperature": 0.7}, {"do_sample": True, "temperature": 0.7}),
        ({"top_k": 0, "top_p": 0.9}, {"top_k": 0, "top_p": 0.9}),
        ({"max_tokens": 3, "repetition_penalty": 1.1}, {"max_new_tokens": 3, "repetition_penalty": 1.1}),
        ({"presence_penalty": 1, "frequency_penalty": 1, "seed": 1, "n": 2, "stop": "x"}, {}),
    ],
)
def test_generation_kwargs(params: dict[str, Any], kwargs: dict[str, Any]) -> None:
    assert SamplingParams(**params).to_generation_kwargs() == kwargs


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=64, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, eos_token_id=None, bos_token_id=0, pad_token_id=0,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def run(model: Any, **params: Any) -> list[int]:
    ids = torch.tensor([[1, 2, 3]])
    kwargs = SamplingParams(max_tokens=8, **params).to_generation_kwargs()
    torch.manual_seed(0)
    return list(model.generate(ids, attention_mask=torch.ones_like(ids), **kwargs)[0, 3:].tolist())


def test_a_real_generate_takes_what_we_hand_it(model: Any) -> None:
    greedy = run(model, temperature=0, top_p=0.5, top_k=3)
    assert len(greedy) == 8
    assert run(model, temperature=0) == greedy
    assert run(model, temperature=5, top_k=1, top_p=1.0, min_p=0.0) == greedy
    assert run(model, temperature=5.0, top_k=0, min_p=0.0, repetition_penalty=1.1) != greedy


def test_greedy_overrules_a_model_that_samples(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    greedy = run(model, temperature=0)
    monkeypatch.setattr(
        model, "generation_config", GenerationConfig(do_sample=True, temperature=5.0, top_k=0, pad_token_id=0)
    )
    assert run(model) != greedy
    with warnings.catch_warnings():
        # transformers 4 remarks on the model's own temperature, which greedy does not use.
        warnings.filterwarnings("ignore", message=r"`do_sample` is set to `False`")
        assert run(model, temperature=0) == greedy


def test_a_replacement_checks_only_what_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    params, read = SamplingParams(temperature=0.5, stop="a"), SamplingParams._read_field
    checked: list[str] = []

    def see(self: SamplingParams, field: Any, value: Any) -> Any:
        checked.append(field.name)
        return read(self, field, value)

    monkeypatch.setattr(SamplingParams, "_read_field", see)
    assert params.replace(n=2, stop="b") == SamplingParams(temperature=0.5, stop=["b"], n=2)
    assert checked[:2] == ["n", "stop"]  # in the order of the fields
    with pytest.raises(ArgumentError, match="n is 0"):
        params.replace(n=0)
