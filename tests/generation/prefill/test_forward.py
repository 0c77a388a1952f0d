"""ForwardCaller, the caches, and the models that must be read in one go."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from unspool import ArgumentError
from unspool.generation.prefill.cache import (
    cache_length,
    cache_problem,
    continuation_problem,
    make_cache,
    repeat_cache,
)
from unspool.generation.prefill.cache_name import (
    cache_name,
    default_cache_name,
    named_for,
    output_cache,
    pop_cache,
)
from unspool.generation.prefill.continuation import cannot_continue, chunk_limit
from unspool.generation.prefill.forward import ForwardCaller

EVERYTHING = {
    "input_ids": 1,
    "attention_mask": 2,
    "cache_position": 3,
    "logits_to_keep": 4,
    "num_logits_to_keep": 5,
}


class Fake:
    """A model whose forward is given by the test, and records what it was called with."""

    def __init__(self, forward: Any) -> None:
        self.forward = forward


def echo(**arguments: Any) -> dict[str, Any]:
    return arguments


def test_only_what_forward_takes() -> None:
    def forward(input_ids: Any, attention_mask: Any = None, *, num_logits_to_keep: Any = None) -> Any:
        return input_ids, attention_mask, num_logits_to_keep

    caller = ForwardCaller(Fake(forward))
    assert caller(**EVERYTHING) == (1, 2, 5)
    assert caller.takes("num_logits_to_keep")
    assert not caller.takes("cache_position")


def test_a_cache_has_the_name_that_the_function_has_for_it() -> None:
    def old(input_ids: Any, past_key_values: Any = None) -> Any:
        return input_ids, past_key_values

    def new(input_ids: Any, cache: Any = None, **_: Any) -> Any:
        return input_ids, cache

    def both(cache: Any = None, past_key_values: Any = None) -> Any:
        return {"cache": cache, "past_key_values": past_key_values}

    def none(input_ids: Any) -> Any:
        return input_ids

    for forward in (old, new):
        assert ForwardCaller(Fake(forward))(input_ids=1, cache=2) == (1, 2)
        assert forward(**named_for(forward, {"input_ids": 1, "cache": 2})) == (1, 2)
    default = default_cache_name()
    for forward in (both, echo):
        assert ForwardCaller(Fake(forward))(cache=2)[default] == 2
    assert ForwardCaller(Fake(none))(input_ids=1, cache=2) == 1
    assert named_for(none, {"input_ids": 1}) == {"input_ids": 1}
    fields = transformers.modeling_outputs.CausalLMOutputWithPast.__dataclass_fields__
    assert default in fields
    assert cache_name(transformers.LlamaForCausalLM.forward) == default


def test_a_dict_that_only_has_the_name_is_no_cache() -> None:
    assert cache_name(transformers.XLMWithLMHeadModel.forward) is None


def test_the_cache_of_a_callers_arguments() -> None:
    for name in ("cache", "past_key_values"):
        arguments = {name: 1, "input_ids": 2}
        assert pop_cache(arguments) == 1
        assert arguments == {"input_ids": 2}
    arguments = {"cache": None, "past_key_values": 3}
    assert pop_cache(arguments) == 3
    assert pop_cache(arguments) is None
    with pytest.raises(ArgumentError, match="pass one of them"):
        pop_cache({"cache": 1, "past_key_values": 2})


def test_a_forward_that_takes_anything_gets_everything_but_the_number_of_logits() -> None:
    kept = {"input_ids": 1, "attention_mask": 2, "cache_position": 3}
    assert ForwardCaller(Fake(echo))(**EVERYTHING) == kept

    def named(logits_to_keep: Any = 0, **rest: Any) -> Any:
        return {"logits_to_keep": logits_to_keep, **rest}

    assert ForwardCaller(Fake(named))(**EVERYTHING) == {**kept, "logits_to_keep": 4}


class Uninspectable:
    looks = 0

    @property
    def __signature__(self) -> Any:
        type(self).looks += 1
        raise RuntimeError("no signature")

    def __call__(self, **arguments: Any) -> Any:
        return arguments


def test_a_forward_that_cannot_be_inspected_gets_everything_and_is_asked_once() -> None:
    caller = ForwardCaller(Fake(Uninspectable()))
    looks = Uninspectable.looks
    assert looks > 0
    for _ in range(3):
        assert caller(**EVERYTHING) == {"input_ids": 1, "attention_mask": 2, "cache_position": 3}
    assert Uninspectable.looks == looks
    assert caller.names is None


def test_no_forward() -> None:
    assert ForwardCaller(object()).missing_reason == "model.forward is missing"
    assert ForwardCaller(Fake(3)).missing_reason == "model.forward is not callable"
    assert ForwardCaller(Fake(echo)).missing_reason is None


def test_the_model_is_called_so_that_its_hooks_run(models: Callable[[str], Any], spy: Any) -> None:
    model = models("llama")
    watch = spy(model)
    ForwardCaller(model)(input_ids=torch.tensor([[1, 2]]), unknown_static=None)
    assert watch.lengths() == [2]


def test_a_new_cache_for_each_model(models: Callable[[str], Any]) -> None:
    model = models("llama")
    first, second = make_cache(model), make_cache(model)
    assert isinstance(first, transformers.DynamicCache)
    assert first is not second
    assert cache_length(first) == 0
    assert make_cache(Fake(echo)) is None


def test_a_cache_of_a_sliding_window_keeps_no_more(models: Callable[[str], Any]) -> None:
    cache = make_cache(models("mistral"))
    if not getattr(cache, "layers", None):
        pytest.skip("this transformers keeps all tokens")
    assert [layer.is_sliding for layer in cache.layers] == [True, True]


def test_the_length_of_a_cache() -> None:
    keys = torch.zeros((1, 2, 5, 8))
    assert cache_length(((keys, keys), (keys, keys))) == 5
    assert cache_length(((keys[0], keys[0]),)) is None
    assert cache_length(object()) is None
    assert cache_length(SimpleNamespace(get_seq_length=lambda: 7)) == 7
    for name in ("cache", "past_key_values"):
        assert output_cache({name: 3}) == 3
        assert output_cache(SimpleNamespace(**{name: 3})) == 3
    assert output_cache((1, 2)) is None


def test_a_cache_that_does_not_hold_what_ran() -> None:
    cache = SimpleNamespace(get_seq_length=lambda: 7)
    assert continuation_problem(cache, 7) is None
    assert continuation_problem(cache, 8) == "the cache holds 7 tokens after 8 of the prompt"
    assert continuation_problem(object(), 8) == "the cache does not show its length after 8 of the prompt"
    assert continuation_problem(None, 8) == "the forward returned no cache"


def test_a_cache_of_a_fixed_size(models: Callable[[str], Any]) -> None:
    options = {"config": models("llama").config, "max_cache_len": 16}
    if transformers.__version__ < "5":
        options["batch_size"] = 1
    assert cache_problem(transformers.StaticCache(**options)) == "the cache, a StaticCache, has a fixed size"
    assert cache_problem(make_cache(models("llama"))) is None


def test_a_row_for_each_answer() -> None:
    keys = torch.arange(4.0).reshape(1, 1, 2, 2)
    repeated = repeat_cache(((keys, keys),), 3)
    assert repeated[0][0].shape == (3, 1, 2, 2)
    assert torch.equal(repeated[0][1][2:], keys)
    assert repeat_cache(object(), 3) is None
    same = object()
    assert repeat_cache(same, 1) is same


@pytest.mark.parametrize("name", ["llama", "mistral", "gpt2", "gemma3", "llama4"])
def test_these_go_on(models: Callable[[str], Any], name: str) -> None:
    assert cannot_continue(models(name), {}) is None


@pytest.mark.parametrize(
    ("name", "kwargs", "reason"),
    [
        ("mamba", {}, "recurrent state"),
        ("llama", {"use_cache": False}, "use_cache is False"),
        ("llama", {"cache_implementation": "static"}, "cache_implementation is 'static'"),
        (
            "llama",
            {"generation_config": SimpleNamespace(cache_implementation="static")},
            "cache_implementation is 'static'",
        ),
        ("llama", {"prompt_lookup_num_tokens": 3}, "prompt_lookup_num_tokens is set"),
        ("llama", {"inputs_embeds": 1}, "inputs_embeds"),
    ],
)
def test_these_do_not(models: Callable[[str], Any], name: str, kwargs: Any, reason: str) -> None:
    assert reason in (cannot_continue(models(name), kwargs) or "")


def fake(forward: Any = echo, config: Any = None, **attributes: Any) -> Any:
    return SimpleNamespace(forward=forward, config=SimpleNamespace(**(config or {})), **attributes)


def test_what_a_config_says() -> None:
    assert cannot_continue(fake(), {}) is None
    assert cannot_continue(fake(), {}, has_static_inputs=True) is None
    assert "recurrent" in (cannot_continue(fake(_is_stateful=True), {}) or "")
    assert "attend to each other" in (cannot_continue(fake(config={"model_type": "paligemma"}), {}) or "")
    inner = SimpleNamespace(get_rope_index=echo)
    assert "get_rope_index" in (cannot_continue(fake(model=inner), {}) or "")
    both = {"use_bidirectional_attention": "vision"}
    assert cannot_continue(fake(config=both), {}) is None
    assert "both directions" in (cannot_continue(fake(config=both), {}, has_static_inputs=True) or "")
    crossing = {"text_config": SimpleNamespace(cross_attention_layers=[3])}
    assert cannot_continue(fake(config=crossing), {}) is None
    assert "from every token" in (cannot_continue(fake(config=crossing), {}, has_static_inputs=True) or "")

    def forward(input_ids: Any, cache_params: Any = None) -> Any:
        return input_ids, cache_params

    assert "no cache" in (cannot_continue(fake(forward), {}) or "")


def test_the_length_up_to_which_positions_stay(models: Callable[[str], Any]) -> None:
    assert chunk_limit(models("llama")) is None
    assert chunk_limit(models("longrope")) == 20
    dynamic = {"max_position_embeddings": 64, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}
    assert chunk_limit(fake(config=dynamic)) == 64
    assert chunk_limit(object()) is None
