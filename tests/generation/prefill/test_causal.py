"""prefill_causal: the same tokens as one-shot, whatever the chunk, and what each forward is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from unspool import ArgumentError, ChannelCancelledError
from unspool.errors import PrefillError
from unspool.generation.prefill.cache import make_cache
from unspool.generation.prefill.cache_name import default_cache_name, named_for, output_cache
from unspool.generation.prefill.causal import prefill_causal
from unspool.generation.prefill.forward import ForwardCaller
from unspool.generation.prefill.strategy import PrefillConfig

TEXT, NATIVE = "transformers-generic-text", "optimized-native-text"
PROMPT = [(7 * index * index + 3 * index) % 290 + 3 for index in range(29)]
N = len(PROMPT)
CHUNKS = [1, 2, 3, 8, N - 1, N, N + 1]

Models = Callable[[str], Any]


def pieces(ids: list[int] = PROMPT, size: int = 5) -> Iterator[list[int]]:
    yield from (ids[begin : begin + size] for begin in range(0, len(ids), size))


def prefill(model: Any, chunk_tokens: int = 8, ids: list[int] = PROMPT, **options: Any) -> Any:
    options.setdefault("strategy", TEXT)
    with torch.inference_mode():
        return prefill_causal(model, pieces(ids), config=PrefillConfig(chunk_tokens=chunk_tokens), **options)


def whole(ids: list[int] = PROMPT) -> dict[str, Any]:
    row = torch.tensor([ids])
    return {"input_ids": row, "attention_mask": torch.ones_like(row)}


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("chunk_tokens", CHUNKS)
@pytest.mark.parametrize("name", ["llama", "mistral", "gpt2", "gemma2", "gemma3", "llama4"])
def test_the_tokens_are_those_of_one_shot(
    models: Models, decoding: Any, name: str, chunk_tokens: int
) -> None:
    model = models(name)
    expected = decoding.one_shot(model, whole())
    prepared = prefill(model, chunk_tokens)
    assert prepared.input_ids.tolist() == [PROMPT]
    has_own_cache = name == "gemma2" and transformers.__version__ < "5"
    assert prepared.scope.runtime_eligible is not has_own_cache
    assert prepared.scope.applied is (chunk_tokens < N and not has_own_cache)
    if prepared.scope.applied:
        assert 1 <= prepared.decode_prefix_tokens <= chunk_tokens
    assert decoding.one_shot(model, prepared.generate_arguments()) == expected
    if not has_own_cache:
        assert decoding.decode(model, prefill(model, chunk_tokens, strategy=NATIVE)) == expected


def test_the_reason_is_the_length(models: Models) -> None:
    long, short = prefill(models("llama"), N - 1), prefill(models("llama"), N)
    assert (long.scope.applied, long.scope.activation_reason) == (True, "prompt length exceeds the chunk")
    assert short.scope.runtime_eligible
    assert not short.scope.applied
    assert short.scope.activation_reason == "prompt length does not exceed the chunk"
    assert (short.cache, short.prefilled, short.decode_prefix_tokens) == (None, 0, N)
    assert long.scope.strategy_id == TEXT
    assert long.token_count == N


def test_what_each_forward_is_given(models: Models, spy: Any) -> None:
    watch = spy(models("llama"))
    prepared = prefill(models("llama"), 8)
    assert watch.lengths() == [8, 8, 8]
    assert [call["attention_mask"].shape[1] for call in watch.calls] == [8, 16, 24]
    assert all(bool(call["attention_mask"].all()) for call in watch.calls)
    assert [call["use_cache"] for call in watch.calls] == [True] * 3
    assert [call["cache_position"].tolist()[0] for call in watch.calls] == [0, 8, 16]
    # Only the last position's logits are made.
    assert [output.logits.shape[1] for output in watch.outputs] == [1, 1, 1]
    for before, after in zip(watch.outputs, watch.calls[1:], strict=False):
        assert after["cache"] is output_cache(before)
    assert prepared.cache is output_cache(watch.outputs[-1])
    assert prepared.attention_mask.tolist() == [[1] * N]


def test_tuples_are_handed_on_too(models: Models, spy: Any) -> None:
    watch = spy(models("gpt2"))
    prefill(models("gpt2"), 8)
    for before, after in zip(watch.outputs, watch.calls[1:], strict=False):
        assert after["cache"] is output_cache(before)


def test_the_first_chunk_runs_before_the_last_piece_is_drawn(models: Models, spy: Any) -> None:
    watch = spy(models("llama"))
    seen: list[int] = []

    def draw() -> Iterator[list[int]]:
        for piece in pieces():
            seen.append(len(watch.calls))
            yield piece

    with torch.inference_mode():
        prepared = prefill_causal(
            models("llama"), draw(), strategy=TEXT, config=PrefillConfig(chunk_tokens=8)
        )
    assert seen == [0, 0, 1, 1, 2, 3]
    assert prepared.peak_buffered_count <= 8 + 5


@pytest.mark.parametrize("size", [1, 4, 29])
def test_the_size_of_the_pieces_does_not_matter(models: Models, spy: Any, size: int) -> None:
    watch = spy(models("llama"))
    with torch.inference_mode():
        prepared = prefill_causal(
            models("llama"), pieces(size=size), strategy=TEXT, config=PrefillConfig(chunk_tokens=7)
        )
    assert watch.lengths() == [7, 7, 7, 7]
    assert prepared.decode_prefix_tokens == 1
    assert prepared.peak_buffered_count <= max(7 + size, N)


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("chunk_tokens", [1, 3, 8, 18, 19, 40])
@pytest.mark.parametrize("held", [1, 10, N - 1])
def test_a_cache_that_the_user_gives(
    models: Models, decoding: Any, spy: Any, chunk_tokens: int, held: int
) -> None:
    model = models("llama")
    expected = decoding.one_shot(model, whole())
    cache = make_cache(model)
    with torch.inference_mode():
        ForwardCaller(model)(input_ids=torch.tensor([PROMPT[:held]]), cache=cache, use_cache=True)
    watch = spy(model)
    prepared = prefill(model, chunk_tokens, cache=cache)
    assert prepared.cache is cache
    assert prepared.scope.applied is (N - held > chunk_tokens)
    assert sum(watch.lengths()) == prepared.prefilled - held
    if watch.calls:
        assert watch.calls[0]["attention_mask"].shape[1] == held + chunk_tokens
        assert watch.calls[0]["cache"] is cache
    assert prepared.input_ids.tolist() == [PROMPT]
    assert decoding.one_shot(model, prepared.generate_arguments()) == expected


def test_a_cache_that_holds_it_all(models: Models) -> None:
    cache = make_cache(models("llama"))
    with torch.inference_mode():
        ForwardCaller(models("llama"))(input_ids=torch.tensor([PROMPT]), cache=cache)
    with pytest.raises(ArgumentError, match=f"holds {N} tokens and the prompt has {N}"):
        prefill(models("llama"), cache=cache)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_a_row_for_each_answer(models: Models, name: str) -> None:
    model = models(name)
    options: dict[str, Any] = {"max_new_tokens": 6, "do_sample": True}
    outputs = []
    with torch.inference_mode():
        for arguments in (
            {**whole(), "num_return_sequences": 3},
            prefill(model, 8, rows=3).generate_arguments(),
        ):
            torch.manual_seed(5)
            outputs.append(model.generate(**named_for(model.generate, arguments), **options).tolist())
    assert outputs[0] == outputs[1]
    assert len(outputs[1]) == 3


def refused(prepared: Any, reason: str) -> None:
    scope = prepared.scope
    assert (scope.strategy_id, scope.runtime_eligible, scope.applied) == (TEXT, False, False)
    assert scope.activation_reason == reason
    assert prepared.input_ids.tolist() == [PROMPT]
    assert prepared.attention_mask.tolist() == [[1] * N]
    assert (prepared.cache, prepared.prefilled) == (None, 0)


def test_a_model_with_a_recurrent_state(models: Models, decoding: Any, spy: Any) -> None:
    model = models("mamba")
    expected = decoding.one_shot(model, whole())
    watch = spy(model)
    prepared = prefill(model)
    assert not watch.calls
    refused(prepared, "MambaForCausalLM keeps a recurrent state, which takes one token at a time")
    assert decoding.one_shot(model, prepared.generate_arguments()) == expected


def test_options_that_forbid_chunks(models: Models) -> None:
    refused(prefill(models("llama"), generation_kwargs={"use_cache": False}), "use_cache is False")


def test_frequencies_that_change_with_the_length(models: Models, decoding: Any, spy: Any) -> None:
    model = models("longrope")
    expected = decoding.one_shot(model, whole())
    watch = spy(model)
    prepared = prefill(model)
    assert watch.lengths() == [8, 8]  # up to the limit of 20 the prompt's length is not known
    refused(prepared, "the rotary frequencies of Phi3ForCausalLM change after 20 tokens")
    assert decoding.one_shot(model, prepared.generate_arguments()) == expected
    ids = PROMPT[:18]
    prepared = prefill(model, ids=ids)
    assert prepared.scope.applied
    assert decoding.one_shot(model, prepared.generate_arguments()) == decoding.one_shot(model, whole(ids))


class Fake:
    """No module: a forward that counts what it was given, and a cache with a length."""

    def __init__(self, cache: Callable[[int], Any]) -> None:
        self.calls: list[dict[str, Any]] = []
        self.length = 0
        self._cache = cache

    def forward(self, **arguments: Any) -> Any:
        self.calls.append(arguments)
        self.length += arguments["input_ids"].shape[1]
        return SimpleNamespace(**{default_cache_name(): self._cache(self.length)})


def counted(length: int) -> Any:
    return SimpleNamespace(get_seq_length=lambda: length)


def test_a_forward_that_takes_anything() -> None:
    fake = Fake(counted)
    prepared = prefill(fake)
    assert prepared.scope.applied
    assert [sorted(call) for call in fake.calls] == [
        sorted(
            [
                "attention_mask",
                "cache_position",
                "input_ids",
                default_cache_name(),
                "return_dict",
                "use_cache",
            ]
        )
    ] * 3
    assert (prepared.prefilled, prepared.cache.get_seq_length()) == (24, 24)


def test_a_forward_that_cannot_be_inspected() -> None:
    class Forward:
        looks = 0
        fake = Fake(counted)

        @property
        def __signature__(self) -> Any:
            type(self).looks += 1
            raise ValueError("no signature")

        def __call__(self, **arguments: Any) -> Any:
            return self.fake.forward(**arguments)

    once = Forward()
    prefill(SimpleNamespace(forward=once), N)
    looks, Forward.looks = Forward.looks, 0
    assert prefill(SimpleNamespace(forward=Forward()), 1).scope.applied
    assert len(Forward.fake.calls) == N - 1
    assert Forward.looks == looks


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (object(), "model.forward is missing"),
        (SimpleNamespace(forward=3), "model.forward is not callable"),
        (Fake(lambda _: None), "the forward returned no cache"),
        (Fake(lambda _: counted(3)), "the cache holds 3 tokens after 8 of the prompt"),
    ],
)
def test_a_model_that_cannot_be_prefilled(model: Any, reason: str) -> None:
    refused(prefill(model), reason)


def test_a_model_that_refuses_the_second_chunk() -> None:
    class Refusing(Fake):
        def forward(self, **arguments: Any) -> Any:
            if self.calls:
                raise ValueError("not with a cache")
            return super().forward(**arguments)

    refused(prefill(Refusing(counted)), "the model refused a chunk: ValueError: not with a cache")


def test_another_error_of_the_model_is_the_callers() -> None:
    error = RuntimeError("out of memory")

    class Broken(Fake):
        def forward(self, **_: Any) -> Any:
            raise error

    with pytest.raises(RuntimeError) as raised:
        prefill(Broken(counted))
    assert raised.value is error


@pytest.mark.parametrize("empty", [[], [[]], [[], []]])
def test_an_empty_prompt(models: Models, empty: list[list[int]]) -> None:
    with pytest.raises(PrefillError, match=f"{TEXT}: the prompt has no tokens"):
        prefill_causal(models("llama"), empty, strategy=TEXT)
    with pytest.raises(PrefillError, match="no tokens"):
        prefill_causal(models("llama"), strategy=TEXT, inputs={"input_ids": torch.zeros((1, 0))})


def test_cancelled_between_chunks(models: Models, spy: Any) -> None:
    watch = spy(models("llama"))
    with pytest.raises(ChannelCancelledError):
        prefill(models("llama"), 4, is_cancelled=lambda: len(watch.calls) == 2)
    assert watch.lengths() == [4, 4]


def test_no_lane(models: Models, spy: Any) -> None:
    watch = spy(models("llama"))
    prepared = prefill(models("llama"), strategy=None)
    assert not watch.calls
    assert prepared.input_ids.tolist() == [PROMPT]
    scope = prepared.scope
    assert (scope.strategy_id, scope.runtime_eligible, scope.applied) == (None, False, False)
    metadata = scope.metadata()
    for name in ("execution_boundary", "attention_mask_mode"):
        assert metadata[f"chunked_prefill_{name}"] == ""


def test_gradients_are_not_kept(models: Models) -> None:
    prepared = prefill_causal(models("llama"), pieces(), strategy=TEXT, config=PrefillConfig(chunk_tokens=8))
    layers = getattr(prepared.cache, "layers", None)
    keys = layers[0].keys if layers else prepared.cache.key_cache[0]
    assert not keys.requires_grad
