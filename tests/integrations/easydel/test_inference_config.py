"""The engine's config, the shapes to warm up, and what a model or a tokenizer fills in."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import (
    GPT2Config,
    LlamaConfig,
    LlamaForCausalLM,
    LlavaConfig,
    MambaConfig,
    MptConfig,
    PreTrainedTokenizerFast,
)  # fmt: skip
from unspool import ArgumentError
from unspool.generation.sampling_params import SamplingParams, resolve_token_ids
from unspool.integrations.easydel import InferenceConfig, PreCompileConfig, power_of_two_lengths
from unspool.integrations.easydel.precompile import prefill_length as model_prefill_length

counts = st.integers(1, 10**9)
token_ids = st.integers(0, 2**31)
configs = st.builds(
    InferenceConfig,
    max_new_tokens=counts,
    streaming_chunks=counts,
    num_return_sequences=counts | st.dictionaries(counts, counts, min_size=1),
    pad_token_id=st.none() | token_ids,
    bos_token_id=st.none() | token_ids,
    eos_token_id=st.none() | token_ids | st.lists(token_ids, min_size=1),
    sampling_params=st.none() | st.builds(SamplingParams, top_k=counts, stop=st.lists(st.text(min_size=1))),
    partition_rules=st.none() | st.lists(st.tuples(st.text(), st.lists(st.none() | st.text()))),
    partition_axis=st.none() | st.dictionaries(st.text(), st.text()),
)
sizes = counts | st.lists(counts, min_size=1, max_size=5)
shapes = st.builds(PreCompileConfig, sizes, st.none() | sizes)


@given(configs | shapes)
def test_configs_go_through_dicts_and_json_unchanged(config: InferenceConfig | PreCompileConfig) -> None:
    assert type(config).from_dict(config.to_dict()) == config
    again = type(config).from_json(config.to_json())
    assert again == config
    assert hash(again) == hash(config)


def test_the_defaults() -> None:
    assert InferenceConfig().to_dict() == {
        "max_new_tokens": 64,
        "streaming_chunks": 16,
        "num_return_sequences": 1,
        "pad_token_id": None,
        "bos_token_id": None,
        "eos_token_id": None,
        "sampling_params": None,
        "partition_rules": None,
        "partition_axis": None,
    }
    assert InferenceConfig(sampling_params={"top_k": 3}).sampling_params == SamplingParams(top_k=3)


@pytest.mark.parametrize(
    ("limit", "chunk", "rows"), [(64, 16, 4), (65, 16, 5), (1, 16, 1), (16, 16, 1), (7, 1, 7)]
)
def test_pieces_of_a_stream(limit: int, chunk: int, rows: int) -> None:
    assert InferenceConfig(max_new_tokens=limit, streaming_chunks=chunk)._loop_rows == rows
    assert InferenceConfig(streaming_chunks=chunk).replace(max_new_tokens=limit)._loop_rows == rows


@given(counts, counts)
def test_the_pieces_hold_all_tokens_and_none_is_empty(limit: int, chunk: int) -> None:
    rows = InferenceConfig(max_new_tokens=limit, streaming_chunks=chunk)._loop_rows
    assert (rows - 1) * chunk < limit <= rows * chunk


@pytest.mark.parametrize("key", ["max_new_tokens", "streaming_chunks", "num_return_sequences"])
def test_counts_are_whole_and_above_zero(key: str) -> None:
    for value in (0, -1):
        with pytest.raises(ArgumentError, match=f"{key} is {value}; pass 1 or more"):
            InferenceConfig(**{key: value})
    for value in (True, 1.0, "1", None):
        with pytest.raises(TypeError, match=key):
            InferenceConfig(**{key: value})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_return_sequences": {}}, ArgumentError, "num_return_sequences is empty"),
        ({"num_return_sequences": {64: 0}}, ArgumentError, r"num_return_sequences\[64\] is 0"),
        ({"num_return_sequences": {0: 1}}, ArgumentError, "a prefill length in num_return_sequences is 0"),
        ({"num_return_sequences": {64: True}}, TypeError, r"num_return_sequences\[64\] is True"),
        ({"pad_token_id": -1}, ArgumentError, "pad_token_id is -1"),
        ({"bos_token_id": [1]}, TypeError, "bos_token_id"),
        ({"eos_token_id": ()}, ArgumentError, "eos_token_id is empty"),
        ({"eos_token_id": [1, -1]}, ArgumentError, r"eos_token_id\[1\] is -1"),
        ({"eos_token_id": "</s>"}, TypeError, "pass int or a sequence of int or None"),
        ({"sampling_params": 0.7}, TypeError, "sampling_params"),
        ({"sampling_params": {"top_p": 2}}, ArgumentError, "top_p is 2"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        InferenceConfig(**options)


def test_fewer_answers_to_longer_prompts() -> None:
    config = InferenceConfig(num_return_sequences={256: 2, 64: 4})
    assert [config.sequence_count(length) for length in (1, 64, 65, 256, 257)] == [4, 4, 2, 2, 2]
    assert InferenceConfig(num_return_sequences=3).sequence_count(1000) == 3


def test_fields_for_jax_are_carried() -> None:
    axis = object()
    config = InferenceConfig(partition_rules=((".*kernel.*", ("fsdp", None)),), partition_axis=axis)
    assert config.replace(max_new_tokens=3).partition_axis is axis
    assert InferenceConfig.from_dict(config.to_dict()) == config
    with pytest.raises(TypeError, match="partition_axis is <object"):
        config.to_json()
    plain = config.replace(partition_axis=None)
    assert InferenceConfig.from_json(plain.to_json()) == plain


def holder(pad: Any = None, bos: Any = None, eos: Any = None) -> SimpleNamespace:
    return SimpleNamespace(pad_token_id=pad, bos_token_id=bos, eos_token_id=eos)


def resolved(config: InferenceConfig, generation_config: Any, tokenizer: Any) -> tuple[Any, Any, Any]:
    config = resolve_token_ids(config, SimpleNamespace(generation_config=generation_config), tokenizer)
    return config.pad_token_id, config.bos_token_id, config.eos_token_id


ids_or_none = st.none() | st.integers(0, 9)


@given(st.tuples(*[ids_or_none] * 9))
def test_the_first_who_knows_an_id_is_asked(ids: tuple[int | None, ...]) -> None:
    explicit, model, tokenizer = ids[:3], ids[3:6], ids[6:]
    config = InferenceConfig(pad_token_id=ids[0], bos_token_id=ids[1], eos_token_id=ids[2])

    def first(place: int) -> int | None:
        found = [source[place] for source in (explicit, model, tokenizer) if source[place] is not None]
        return found[0] if found else None

    pad, bos, eos = first(0), first(1), first(2)
    if eos is None:
        with pytest.raises(ArgumentError, match=r"pass InferenceConfig\(eos_token_id=\.\.\.\)"):
            resolved(config, holder(*model), holder(*tokenizer))
    else:
        expected = (eos if pad is None else pad, bos, eos)
        assert resolved(config, holder(*model), holder(*tokenizer)) == expected


@pytest.mark.parametrize(
    ("generation_config", "tokenizer", "expected"),
    [
        (holder(eos=[7, 8]), holder(eos=9), (7, None, (7, 8))),
        (holder(eos=[7, 8], pad=0), holder(), (0, None, (7, 8))),
        (holder(eos=torch.tensor([7, 8])), None, (7, None, (7, 8))),
        (holder(eos=torch.tensor(7)), None, (7, None, 7)),
        (holder(eos=[]), holder(eos=9), (9, None, 9)),
        (holder(eos=-1, pad=-1), holder(eos=9, bos=1), (9, 1, 9)),
        (None, holder(eos=9), (9, None, 9)),
        (holder(), SimpleNamespace(tokenizer=holder(eos=9, pad=0)), (0, None, 9)),
        (holder(eos=0, pad=0), holder(eos=9, pad=9), (0, None, 0)),
    ],
)
def test_where_ids_come_from(generation_config: Any, tokenizer: Any, expected: tuple[Any, Any, Any]) -> None:
    assert resolved(InferenceConfig(), generation_config, tokenizer) == expected


def test_ids_that_are_no_integers_are_refused() -> None:
    with pytest.raises(TypeError, match=r"model\.generation_config\.eos_token_id is '</s>'"):
        resolved(InferenceConfig(), holder(eos="</s>"), holder(eos=1))


def test_a_model_without_generation_config_and_no_tokenizer() -> None:
    config = InferenceConfig(eos_token_id=[3, 4])
    assert resolve_token_ids(config, object(), None).pad_token_id == 3
    with pytest.raises(ArgumentError, match="no token ends an answer"):
        resolve_token_ids(InferenceConfig(), object(), None)


def test_ids_of_a_real_model_and_tokenizer(deepseek: Any) -> None:
    end = "<｜end▁of▁sentence｜>"
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=deepseek.tokenizer, eos_token=end)
    model_config = LlamaConfig(
        vocab_size=64, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, eos_token_id=[5, 6], bos_token_id=4, pad_token_id=None,
    )  # fmt: skip
    model = LlamaForCausalLM(model_config)
    config = resolve_token_ids(InferenceConfig(), model, tokenizer)
    assert (config.pad_token_id, config.bos_token_id, config.eos_token_id) == (5, 4, (5, 6))
    model.generation_config.eos_token_id = None
    config = resolve_token_ids(InferenceConfig(), model, tokenizer)
    assert config.eos_token_id == config.pad_token_id == tokenizer.convert_tokens_to_ids(end)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (PreCompileConfig(), [(1, None)]),
        (PreCompileConfig(2, 64), [(2, 64)]),
        (PreCompileConfig([1, 2], [64, 128, 256]), [(1, 64), (2, 128), (2, 256)]),
        (PreCompileConfig([1, 2, 4], 64), [(1, 64), (2, 64), (4, 64)]),
        (PreCompileConfig([1, 2]), [(1, None), (2, None)]),
    ],
)
def test_expanding_repeats_the_last_item_of_the_shorter_list(
    config: PreCompileConfig, expected: list[tuple[int, int | None]]
) -> None:
    assert config.expand() == tuple(PreCompileConfig(*shape) for shape in expected)


@given(shapes)
def test_what_is_expanded_stays_as_it_is(config: PreCompileConfig) -> None:
    expanded = config.expand()
    for one in expanded:
        assert one.expand() == (one,)
    rebuilt = PreCompileConfig.from_json(config.to_json())
    assert rebuilt.stable_hash() == config.stable_hash()
    lengths = [one.prefill_length for one in expanded]
    if None not in lengths:
        lists = PreCompileConfig([one.batch_size for one in expanded], lengths)
        assert lists.stable_hash() == config.stable_hash()


def test_the_hash_distinguishes_shapes_and_is_the_same_in_every_process() -> None:
    configs = [
        PreCompileConfig(*shape)
        for shape in [(1, None), (1, 64), (64, 1), (1, 6), (16, 4), (1, [64, 128]), ([1, 2], 64)]
    ]
    hashes = [config.stable_hash() for config in configs]
    assert len(set(hashes)) == len(hashes)
    assert all(0 <= value < 2**64 for value in hashes)
    program = (
        "import sys; from unspool.integrations.easydel import PreCompileConfig\n"
        "print([PreCompileConfig.from_json(text).stable_hash() for text in sys.argv[1:]], hash('unspool'))"
    )
    seen = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        arguments = [sys.executable, "-c", program, *(config.to_json() for config in configs)]
        output = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True).stdout
        assert output.startswith(f"{hashes} ")
        seen.add(output)
    assert len(seen) == 2  # Python's own hash does differ


def test_the_hash_does_not_change_between_releases() -> None:
    """It is written to disk; a change of it makes every saved engine warm up again."""
    assert PreCompileConfig(1, 64).stable_hash() == 8914828293998809030


def test_prefill_lengths_in_powers_of_two() -> None:
    assert power_of_two_lengths() == (64, 128, 256, 512, 1024, 2048)
    config = PreCompileConfig.create_optimized_compo(64, 2048)
    assert config == PreCompileConfig(1, [64, 128, 256, 512, 1024, 2048])
    assert config == PreCompileConfig.create_optimized_compo()
    assert PreCompileConfig.create_optimized_compo(batch_size=[1, 2], max_length=128) == PreCompileConfig(
        [1, 2], [64, 128]
    )
    with pytest.raises(ArgumentError, match="no power of two from 65 to 127"):
        power_of_two_lengths(65, 127)
    with pytest.raises(ArgumentError, match="min_length is 0"):
        power_of_two_lengths(0)
    with pytest.raises(TypeError, match=r"max_length is 8\.0"):
        power_of_two_lengths(1, 8.0)  # type: ignore[arg-type]


@given(st.integers(1, 10**4), st.integers(0, 10**4))
def test_every_power_of_two_in_the_range_is_there(least: int, more: int) -> None:
    expected = tuple(2**power for power in range(20) if least <= 2**power <= least + more)
    if expected:
        assert power_of_two_lengths(least, least + more) == expected
    else:
        with pytest.raises(ArgumentError, match="no power of two"):
            power_of_two_lengths(least, least + more)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0,), ArgumentError, "batch_size is 0"),
        (([],), ArgumentError, "batch_size is empty"),
        ((1, []), ArgumentError, "prefill_length is empty"),
        ((1, [64, 0]), ArgumentError, "prefill_length is 0"),
        ((True,), TypeError, "batch_size is True"),
        ((1, 64.0), TypeError, "prefill_length is 64.0"),
        ((None,), TypeError, "batch_size is None"),
        ((1, [64, None]), TypeError, r"prefill_length\[1\] is None"),
    ],
)
def test_bad_shapes(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        PreCompileConfig(*arguments)


LENGTH_NAMES = [
    "max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len", "seq_length", "n_ctx",
]  # fmt: skip


@pytest.mark.parametrize("name", LENGTH_NAMES)
def test_the_length_of_a_prompt_under_every_name(name: str) -> None:
    own = SimpleNamespace(**{name: 100})
    for config in (
        own,
        SimpleNamespace(text_config=own),
        SimpleNamespace(get_text_config=lambda: own),
        SimpleNamespace(text_config=own, **dict.fromkeys(LENGTH_NAMES, 7)),
        SimpleNamespace(**{**dict.fromkeys(LENGTH_NAMES, -1), name: 100}),
    ):
        assert model_prefill_length(SimpleNamespace(config=config), 30) == 70


def test_several_text_configs_fall_back_to_the_config_itself() -> None:
    def ambiguous() -> None:
        raise ValueError("several")

    config = SimpleNamespace(get_text_config=ambiguous, n_ctx=10)
    assert model_prefill_length(SimpleNamespace(config=config), 1) == 9


@pytest.mark.parametrize(
    "config",
    [
        LlamaConfig(max_position_embeddings=100),
        GPT2Config(n_positions=100),
        MptConfig(max_seq_len=100),
        LlavaConfig(text_config=LlamaConfig(max_position_embeddings=100)),
    ],
    ids=lambda config: config.model_type,
)
def test_the_length_of_a_prompt_for_real_configs(config: Any) -> None:
    assert model_prefill_length(SimpleNamespace(config=config), 36) == 64


@pytest.mark.parametrize("config", [MambaConfig(), SimpleNamespace(), SimpleNamespace(n_ctx=math.inf), None])
def test_a_model_that_does_not_say_its_length(config: Any) -> None:
    with pytest.raises(ArgumentError, match=", ".join(LENGTH_NAMES)):
        model_prefill_length(SimpleNamespace(config=config), 1)


def test_a_prompt_needs_room() -> None:
    model = SimpleNamespace(config=SimpleNamespace(n_ctx=10))
    assert model_prefill_length(model, 9) == 1
    with pytest.raises(ArgumentError, match="max_new_tokens is 10, but the model has 10 positions"):
        model_prefill_length(model, 10)
    with pytest.raises(ArgumentError, match="max_new_tokens is 0"):
        model_prefill_length(model, 0)
    with pytest.raises(TypeError, match="max_new_tokens is True"):
        model_prefill_length(model, True)
