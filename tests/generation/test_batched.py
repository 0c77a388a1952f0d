"""Requests that share the steps of a model, and keep their prompts, through transformers' continuous batching."""

from __future__ import annotations

import copy
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from unspool import ArgumentError, ContextLengthError, SamplingParams, StreamGenerator

from ..tiny_models import make_llama
from .helpers import BACKENDS, wait_for

pytestmark = pytest.mark.skipif("batched" not in BACKENDS, reason="needs transformers 5.17")

LIMIT = 12


class Counted:
    """A model, and how many ids each of its forwards had."""

    def __init__(self, model: Any) -> None:
        self.model = copy.deepcopy(model)
        self.forwards: list[int] = []
        self.before: Any = lambda: None
        self.model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _: Any, __: Any, inputs: Any) -> None:
        self.forwards.append(inputs["input_ids"].numel())
        self.before()


@pytest.fixture
def counted(llama: Any) -> Counted:
    return Counted(llama)


@pytest.fixture
def generator(counted: Counted, byte_tokenizer: Any) -> StreamGenerator:
    return StreamGenerator(counted.model, byte_tokenizer, format="none", backend="batched")


def alone(llama: Any, tokenizer: Any, prompt: Any, **options: Any) -> list[tuple[int, ...]]:
    """The ids of each answer in a loop of its own."""
    result = StreamGenerator(llama, tokenizer, format="none", backend="native").generate(prompt, **options)
    return [choice.token_ids for choice in result.choices]


def run_all(generator: StreamGenerator, prompts: list[str], **options: Any) -> list[tuple[int, ...]]:
    """The ids of an answer to each, all at one time."""
    with ThreadPoolExecutor(len(prompts)) as pool:
        results = list(pool.map(lambda prompt: generator.generate(prompt, **options), prompts))
    return [result.choices[0].token_ids for result in results]


@pytest.mark.parametrize("first", [1600, 1601, 1604, 1606, 1607])
def test_a_third_turn_runs_what_is_new(byte_tokenizer: Any, first: int) -> None:
    counted = Counted(make_llama(byte_tokenizer, max_position_embeddings=4096))
    generator = StreamGenerator(counted.model, byte_tokenizer, format="none", backend="batched")
    ids = torch.randint(256, (first,), generator=torch.Generator().manual_seed(0)).tolist()
    for turn in range(3):
        counted.forwards.clear()
        result = generator.generate(ids, max_new_tokens=15, sampling=SamplingParams(ignore_eos=True))
        cached = result.usage.cached_tokens
        assert sum(counted.forwards) - 14 == len(ids) - cached, "a step for each further token"
        # The last token of an answer is never run, and of a page that is not full all are run again.
        assert cached == (0 if turn == 0 else (len(ids) - 32) // 8 * 8)
        ids = [*ids, *result.choices[0].token_ids, *range(31)]
    assert len(ids) - 46 - cached <= 39, "of a third prompt of some 1,692 tokens, with 31 new ones"


def test_two_requests_share_each_step(
    counted: Counted, generator: StreamGenerator, llama: Any, byte_tokenizer: Any
) -> None:
    prompts = ["One", "Another prompt", "A third one"]
    expected = [alone(llama, byte_tokenizer, prompt, max_new_tokens=40)[0] for prompt in prompts]
    together = threading.Barrier(2)
    counted.before = lambda: len(counted.forwards) == 1 and together.wait(10)
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(generator.generate, prompts[0], max_new_tokens=40)]
        assert wait_for(lambda: len(counted.forwards) == 1)
        answers += [pool.submit(generator.generate, prompt, max_new_tokens=40) for prompt in prompts[1:]]
        assert wait_for(lambda: len(generator._batch._chooser._lanes) == 3)
        together.wait(10)
        assert [answer.result().choices[0].token_ids for answer in answers] == expected
    # The first one's prompt, and then all: the two others begin one step late.
    assert len(counted.forwards) == 1 + max(map(len, expected))


def test_more_than_the_cache_has_room_for(llama: Any, byte_tokenizer: Any) -> None:
    generator = StreamGenerator(llama, byte_tokenizer, format="none", backend="batched", cache_tokens=96)
    prompts = [f"{letter} prompt of some length" for letter in "ABCDEFG"]
    options = {"max_new_tokens": 60, "sampling": SamplingParams(ignore_eos=True, temperature=1.0, seed=1)}
    expected = [alone(llama, byte_tokenizer, prompt, **options)[0] for prompt in prompts]
    assert run_all(generator, prompts, **options) == expected


def test_a_request_that_has_no_room_is_refused_and_others_run(llama: Any, byte_tokenizer: Any) -> None:
    generator = StreamGenerator(llama, byte_tokenizer, format="none", backend="batched", cache_tokens=64)
    assert generator.context_length == 64
    with pytest.raises(ContextLengthError, match="64 tokens"):
        generator.generate("a" * 65, max_new_tokens=1)
    assert len(generator.generate("a" * 60).choices[0].token_ids) <= 4
    whole = generator.generate("a" * 60, max_new_tokens=4, sampling=SamplingParams(ignore_eos=True))
    assert whole.usage.completion_tokens == 4


def test_answers_of_one_request_run_its_prompt_once(
    counted: Counted, generator: StreamGenerator, llama: Any, byte_tokenizer: Any
) -> None:
    prompt, limit = "a" * 200, 10
    sampling = SamplingParams(n=4, seed=5, temperature=1.0, logprobs=1, ignore_eos=True)
    result = generator.generate(prompt, sampling=sampling, max_new_tokens=limit)
    assert sum(counted.forwards) <= 200 + 3 * 8 + 4 * (limit - 1)
    for row, choice in enumerate(result.choices):
        one = sampling.replace(n=1, seed=5 + row)
        assert [choice.token_ids] == alone(llama, byte_tokenizer, prompt, sampling=one, max_new_tokens=limit)
        assert [entry.token_id for entry in choice.logprobs] == list(choice.token_ids)


def test_a_request_that_fails_leaves_the_others_alone(
    generator: StreamGenerator, llama: Any, byte_tokenizer: Any
) -> None:
    def fail(input_ids: Any, scores: Any) -> Any:
        if input_ids.shape[1] > 8:
            raise KeyError("mine")
        return scores

    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(generator.generate, "Other", max_new_tokens=60)
        with pytest.raises(KeyError, match="mine"):
            generator.generate("Failing", max_new_tokens=60, logits_processor=[fail])
        assert [other.result().choices[0].token_ids] == alone(
            llama, byte_tokenizer, "Other", max_new_tokens=60
        )
    assert not generator._batch._chooser._lanes


def test_a_model_that_fails_is_started_again(counted: Counted, generator: StreamGenerator) -> None:
    expected = run_all(generator, ["One", "Two"], max_new_tokens=LIMIT)

    def fail() -> None:
        raise MemoryError("no room")

    counted.before = fail
    with ThreadPoolExecutor(2) as pool:
        for answer in [
            pool.submit(generator.generate, prompt, max_new_tokens=LIMIT) for prompt in ("One", "Two")
        ]:
            with pytest.raises(MemoryError, match="no room"):
                answer.result()
    counted.before = lambda: None
    assert run_all(generator, ["One", "Two"], max_new_tokens=LIMIT) == expected


def test_a_consumer_that_leaves_frees_its_place(counted: Counted, generator: StreamGenerator) -> None:
    with generator.stream("Hello", max_new_tokens=500, sampling=SamplingParams(ignore_eos=True)) as stream:
        next(stream)
    assert wait_for(lambda: not generator._batch._chooser._lanes)
    count = len(counted.forwards)
    assert count < 500
    assert generator.generate("Hello", max_new_tokens=LIMIT).choices[0].token_ids


def test_what_cannot_be_honoured_is_refused(
    generator: StreamGenerator, llama: Any, t5: Any, byte_tokenizer: Any
) -> None:
    with pytest.raises(ArgumentError, match="leave cache_tokens out"):
        StreamGenerator(llama, byte_tokenizer, cache_tokens=64)
    with pytest.raises(ArgumentError, match="cache_tokens is 0"):
        StreamGenerator(llama, byte_tokenizer, backend="batched", cache_tokens=0)
    lane = {"strategy": "optimized-native-text"}
    with pytest.raises(ArgumentError, match="does not fit the batched backend"):
        StreamGenerator(llama, byte_tokenizer, backend="batched", prefill=lane).stream("Hello")
    with pytest.raises(ArgumentError, match="backend='native'"):
        StreamGenerator(llama, byte_tokenizer, backend="batched", hook=object())  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="decoder-only"):
        StreamGenerator(t5, byte_tokenizer, backend="batched")
    with pytest.raises(ArgumentError, match="cannot run this model"):
        StreamGenerator(object(), byte_tokenizer, backend="batched")
    with pytest.raises(ArgumentError, match=r"cannot run this model.* fewer cache_tokens"):
        StreamGenerator(llama, byte_tokenizer, backend="batched", cache_tokens=1 << 50)
    with pytest.raises(ArgumentError, match="does not know penalty_alpha"):
        generator.stream("Hello", penalty_alpha=0.5)
    embeds = llama.get_input_embeddings()(torch.tensor([[65, 66]]))
    with pytest.raises(ArgumentError, match="reads token ids alone"):
        generator.generate(inputs_embeds=embeds, max_new_tokens=4)
    padded = {"input_ids": torch.tensor([[65, 66]]), "attention_mask": torch.tensor([[0, 1]])}
    with pytest.raises(ArgumentError, match="reads token ids alone"):
        generator.generate(padded, max_new_tokens=4)


def test_layers_of_a_sliding_window_keep_no_prefix(byte_tokenizer: Any) -> None:
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    config = MistralConfig(**make_llama(byte_tokenizer).config.to_diff_dict(), sliding_window=32)
    model = MistralForCausalLM(config).eval()
    prompt, sampling = "a" * 100, SamplingParams(ignore_eos=True)
    generator = StreamGenerator(model, byte_tokenizer, format="none", backend="batched")
    for _ in range(2):
        result = generator.generate(prompt, max_new_tokens=LIMIT, sampling=sampling)
        assert result.usage.cached_tokens == 0
        assert [result.choices[0].token_ids] == alone(
            model, byte_tokenizer, prompt, max_new_tokens=LIMIT, sampling=sampling
        )


def test_the_model_is_freed_with_its_generator(byte_tokenizer: Any) -> None:
    model = make_llama(byte_tokenizer)
    generator = StreamGenerator(model, byte_tokenizer, format="none", backend="batched")
    generator.generate("Hello", max_new_tokens=LIMIT)
    freed = weakref.ref(model)
    del model, generator
    assert wait_for(lambda: freed() is None)


_LEAVING = """
import sys
from tests.tiny_models import make_byte_tokenizer, make_llama
from unspool import SamplingParams, StreamGenerator
tokenizer = make_byte_tokenizer()
generator = StreamGenerator(make_llama(tokenizer, max_position_embeddings=9999), tokenizer, format="none", backend="batched")
stream = generator.stream("Hello", max_new_tokens=9000, sampling=SamplingParams(ignore_eos=True))
next(stream)
print("leaving")
"""


def test_a_program_ends_while_the_model_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LEAVING], check=False, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.strip()) == (0, "leaving"), done.stderr
    assert "Traceback" not in done.stderr
