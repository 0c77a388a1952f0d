"""StreamGenerator: what a caller may pass, what comes, and what happens when something goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import gc
import pickle
import queue
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import LogitsProcessor
from unspool import ArgumentError, ConditioningHook, StreamGenerator, StreamTimeout, VocabularyError
from unspool.generation import active_workers
from unspool.integrations.easydel import SampleState

from ..tiny_models import make_llama
from .helpers import BACKENDS, wait_for

PROMPT = "Tell me a story."


class Pace(LogitsProcessor):
    """Counts steps; sleeps in each, waits for an event in one, or breaks in one."""

    def __init__(
        self,
        pause_s: float = 0.0,
        fails_at: int | None = None,
        waits_at: int | None = None,
        error: Any = None,
    ) -> None:
        self.pause_s, self.fails_at, self.waits_at = pause_s, fails_at, waits_at
        self.error = error or RuntimeError("the model broke")
        self.steps = 0
        self.go_on = threading.Event()
        self.modes: list[bool] = []

    def __call__(self, _input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        self.modes.append(torch.is_inference_mode_enabled())
        if self.steps == self.fails_at:
            raise self.error
        if self.steps == self.waits_at:
            self.go_on.wait(10)
        time.sleep(self.pause_s)
        # One letter after the other, so that every token is a text.
        forced = torch.full_like(scores, float("-inf"))
        forced[:, 64 + self.steps % 26] = 0
        return forced


def letters(count: int) -> str:
    """What a paced model writes: ids 65, 66, … of the byte tokenizer."""
    return "".join(chr(33 + 64 + step % 26) for step in range(1, count + 1))


@pytest.fixture(params=BACKENDS)
def generator(request: pytest.FixtureRequest, llama: Any, byte_tokenizer: Any) -> Any:
    yield StreamGenerator(llama, byte_tokenizer, backend=request.param)
    assert wait_for(lambda: active_workers() == 0)


def paced(generator: Any, pace: Pace, count: int = 20, **options: Any) -> Any:
    return generator.stream(PROMPT, logits_processor=[pace], max_new_tokens=count, do_sample=False, **options)


# What comes


def test_the_stream_joined_is_what_generate_gives_and_what_the_tokenizer_decodes(
    generator: Any, byte_tokenizer: Any, llama: Any, one_shot: Any
) -> None:
    ids = byte_tokenizer(PROMPT, return_tensors="pt")["input_ids"]
    for count in (1, 3, 8, 40):  # less and more than the prompt
        expected = one_shot(llama, count, input_ids=ids)
        for skip in (True, False):
            options = {"max_new_tokens": count, "do_sample": False, "skip_special_tokens": skip}
            texts = list(generator.stream_prompt(PROMPT, **options))
            decoded = byte_tokenizer.decode(expected, skip_special_tokens=skip)
            assert "".join(texts) == decoded
            assert "" not in texts
            assert generator.generate(PROMPT, **options).text == decoded


def test_special_tokens_are_shown_on_demand(generator: Any, byte_tokenizer: Any) -> None:
    end = byte_tokenizer.eos_token_id

    def force(_: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        forced = torch.full_like(scores, float("-inf"))
        forced[:, end] = 0
        return forced

    for skip, text in ((True, ""), (False, "<eos>")):
        result = generator.generate(
            PROMPT, logits_processor=[force], max_new_tokens=5, do_sample=False, skip_special_tokens=skip
        )
        assert (result.text, result.finish_reason, result.usage.completion_tokens) == (text, "stop", 1)


@pytest.mark.parametrize("with_ids", [False, True])
def test_embeddings_lose_no_token_and_repeat_no_prompt(
    generator: Any, llama: Any, byte_tokenizer: Any, one_shot: Any, with_ids: bool
) -> None:
    if generator.backend == "batched":
        pytest.skip("a batch reads token ids alone")
    ids = byte_tokenizer(PROMPT, return_tensors="pt")["input_ids"]
    embeds = llama.get_input_embeddings()(ids)
    for count in (3, 40):
        expected = one_shot(llama, count, input_ids=ids)
        result = generator.generate(
            inputs_embeds=embeds, input_ids=ids if with_ids else None, max_new_tokens=count, do_sample=False
        )
        assert list(result.token_ids) == expected
        assert result.usage.prompt_tokens == ids.shape[1]
        assert "inputs_embeds" in result.metadata["chunked_prefill_activation_reason"]


def test_a_decoder_start_token_never_shows(t5: Any, byte_tokenizer: Any, one_shot: Any) -> None:
    ids = byte_tokenizer(PROMPT, return_tensors="pt")["input_ids"]
    expected = one_shot(t5, input_ids=ids)
    texts = StreamGenerator(t5, byte_tokenizer).stream_prompt(
        PROMPT, max_new_tokens=20, do_sample=False, skip_special_tokens=False
    )
    assert "".join(texts) == byte_tokenizer.decode(expected)


@pytest.mark.parametrize("form", ["text", "list", "tensor", "row", "mapping", "inputs", "object", "encoding"])
def test_forms_of_a_prompt(generator: Any, byte_tokenizer: Any, form: str) -> None:
    ids = byte_tokenizer(PROMPT)["input_ids"]
    prompt: Any = {
        "text": PROMPT,
        "list": ids,
        "tensor": torch.tensor([ids]),
        "row": [ids],
        "mapping": {"prompt": PROMPT},
        "inputs": {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones((1, len(ids)))},
        "object": SimpleNamespace(to_dict=lambda: {"text": PROMPT}),
        "encoding": byte_tokenizer(PROMPT, return_tensors="pt"),
    }[form]
    expected = generator.generate(PROMPT, max_new_tokens=10, do_sample=False)
    result = generator.generate(prompt, max_new_tokens=10, do_sample=False)
    assert result.token_ids == expected.token_ids
    assert result.usage.total_tokens == expected.usage.total_tokens


def test_a_function_makes_its_prompt_in_the_worker(generator: Any) -> None:
    threads: list[str] = []

    def make() -> Any:
        threads.append(threading.current_thread().name)
        return [{"role": "user", "content": PROMPT}]

    expected = generator.generate([{"role": "user", "content": PROMPT}], max_new_tokens=5, do_sample=False)
    assert generator.generate(make, max_new_tokens=5, do_sample=False).token_ids == expected.token_ids
    assert threads == ["unspool-generate"]
    with pytest.raises(ArgumentError, match="the prompt is empty"):
        generator.generate(lambda: "")


def test_stop_strings(generator: Any) -> None:
    pace = Pace()
    result = generator.generate(
        PROMPT, logits_processor=[pace], max_new_tokens=20, do_sample=False, stop=["ef", "zz"]
    )
    assert result.text == "bcd"
    assert (result.finish_reason, result.stop_reason) == ("stop", "ef")
    assert pace.steps <= 6


def test_the_first_token_ends_a_wait_before_the_second_runs(generator: Any, byte_tokenizer: Any) -> None:
    """Also if it makes no delta."""
    go_on = threading.Event()
    was_seen: list[bool] = []
    marker = iter(byte_tokenizer.encode("<think>abc", add_special_tokens=False))

    def force(_: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if not was_seen and len(scores_seen) == 1:
            was_seen.append(go_on.wait(20))
        scores_seen.append(1)
        forced = torch.full_like(scores, -1e9)
        forced[:, next(marker)] = 0.0
        return forced

    scores_seen: list[int] = []
    reader = generator.with_format("qwen3")

    async def run() -> bool:
        stream = reader.stream("Hello", max_new_tokens=4, logits_processor=[force])
        is_ready = await stream.ready()
        assert not stream.has_deltas
        go_on.set()
        while await stream.ready():
            stream.drain()
        return is_ready

    assert asyncio.run(run())
    assert was_seen == [True]


def test_criteria_of_the_caller_are_kept(generator: Any) -> None:
    from transformers import StoppingCriteria, StoppingCriteriaList

    class AtSeven(StoppingCriteria):
        def __call__(self, input_ids: torch.Tensor, *_: Any, **__: Any) -> Any:
            done = input_ids[0, -1].item() == 71
            return torch.full((input_ids.shape[0],), done)

    stop = StoppingCriteriaList([AtSeven()])
    result = generator.generate(
        PROMPT, logits_processor=[Pace()], max_new_tokens=20, do_sample=False, stopping_criteria=stop
    )
    assert (result.text, result.finish_reason) == (letters(7), "stop")
    assert len(stop) == 1  # the caller's list is left as it was


def test_finish_reasons_are_judged_by_the_requests_own_limit(generator: Any) -> None:
    for count in (1, 7, 100):
        result = generator.generate(PROMPT, logits_processor=[Pace()], max_new_tokens=count, do_sample=False)
        assert (result.finish_reason, len(result.token_ids)) == ("length", count)
    length = len(generator.tokenizer(PROMPT)["input_ids"]) + 6
    result = generator.generate(PROMPT, logits_processor=[Pace()], max_length=length, do_sample=False)
    assert (result.finish_reason, len(result.token_ids)) == ("length", 6)


def test_metrics(generator: Any) -> None:
    result = generator.generate(
        PROMPT, logits_processor=[Pace(pause_s=0.01)], max_new_tokens=6, do_sample=False
    )
    metrics = result.metrics
    assert metrics.prompt_tokens == len(generator.tokenizer(PROMPT)["input_ids"])
    assert metrics.output_tokens == 6
    assert len(metrics.inter_token_ms) == 5
    assert all(gap >= 10 for gap in metrics.inter_token_ms)
    assert metrics.time_to_first_token_ms >= 10
    assert metrics.output_tokens_per_second == pytest.approx(5000 / sum(metrics.inter_token_ms))
    assert metrics.prompt_tokens_per_second == pytest.approx(
        1000 * metrics.prompt_tokens / metrics.time_to_first_token_ms
    )


def test_state_while_it_runs(generator: Any) -> None:
    pace = Pace(waits_at=1)
    stream = paced(generator, pace, count=6)
    before = SampleState.of(stream)
    assert (before.generated_tokens, before.tokens_per_second) == (0, float("-inf"))
    pace.go_on.set()
    list(stream)
    pace = Pace(waits_at=4)
    stream = paced(generator, pace, count=6)
    assert [next(stream).text for _ in range(3)] == list(letters(3))
    state = SampleState.of(stream)
    assert (state.generated_tokens, state.running_token, state.is_sequence_finished) == (3, 67, False)
    assert state.current_length == state.padded_length + 3
    pace.go_on.set()
    list(stream)
    assert (SampleState.of(stream).generated_tokens, SampleState.of(stream).is_sequence_finished) == (6, True)
    assert SampleState.of(stream).tokens_per_second > 0


def test_options_reach_generate_unchanged(llama: Any, byte_tokenizer: Any) -> None:
    seen: dict[str, Any] = {}

    class Spy:
        config, generation_config, device = llama.config, llama.generation_config, llama.device
        forward = staticmethod(llama.forward)

        def generate(self, **options: Any) -> Any:
            seen.update(options)
            return llama.generate(**options)

    texts = StreamGenerator(Spy(), byte_tokenizer).stream_prompt(
        PROMPT, max_new_tokens=7, temperature=0.2, do_sample=True, stream_timeout=5, typical_p=0.9
    )
    assert "".join(texts)
    assert (seen["max_new_tokens"], seen["temperature"], seen["do_sample"], seen["typical_p"]) == (
        7,
        0.2,
        True,
        0.9,
    )
    assert not {"stream_timeout", "timeout", "raw", "tools", "stop"} & set(seen)
    assert len(seen["stopping_criteria"]) == 1


# Several answers


def test_several_answers_carry_their_choice(generator: Any) -> None:
    result_ids = []
    for _ in range(2):
        stream = generator.stream(PROMPT, n=3, do_sample=True, seed=7, max_new_tokens=12)
        texts = ["", "", ""]
        for delta in stream:
            texts[delta.choice] += delta.text
        result = stream.result
        assert [choice.message.content for choice in result.choices] == texts
        assert [choice.index for choice in result.choices] == [0, 1, 2]
        assert result.usage.completion_tokens == sum(len(choice.token_ids) for choice in result.choices)
        result_ids.append([choice.token_ids for choice in result.choices])
    assert result_ids[0] == result_ids[1]
    assert len({tuple(ids) for ids in result_ids[0]}) == 3


def test_answers_that_end_at_different_times(generator: Any, byte_tokenizer: Any) -> None:
    if generator.backend == "batched":
        pytest.skip("each answer of a batch has processors of its own row")

    def force(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        forced = torch.full_like(scores, float("-inf"))
        step = input_ids.shape[1] - len(byte_tokenizer(PROMPT)["input_ids"])
        for row in range(3):
            forced[row, byte_tokenizer.eos_token_id if step >= 2 * row + 1 else 65 + row] = 0
        return forced

    result = generator.generate(
        PROMPT, n=3, do_sample=True, logits_processor=[force], max_new_tokens=20, seed=1, top_k=0
    )
    assert [len(choice.token_ids) for choice in result.choices] == [2, 4, 6]
    assert [choice.finish_reason for choice in result.choices] == ["stop"] * 3
    assert len({len(set(choice.token_ids)) for choice in result.choices}) == 1


def test_criteria_of_the_caller_end_one_answer_each(generator: Any) -> None:
    if generator.backend == "batched":
        pytest.skip("each answer of a batch has processors of its own row")
    prompt_length = len(generator.tokenizer(PROMPT)["input_ids"])

    def says(input_ids: torch.Tensor, *_: Any, **__: Any) -> Any:
        step = input_ids.shape[1] - prompt_length
        return torch.tensor([step == 3, step == 6, False])  # each says so once

    result = generator.generate(
        PROMPT, n=3, do_sample=True, logits_processor=[Pace()], stopping_criteria=[says], max_new_tokens=9,
        pad_token_id=70,
    )  # fmt: skip
    assert [choice.message.content for choice in result.choices] == [letters(3), letters(6), letters(9)]
    assert [choice.finish_reason for choice in result.choices] == ["stop", "stop", "length"]
    assert result.usage.completion_tokens == 18


def test_several_answers_after_chunked_prefill(llama: Any, byte_tokenizer: Any) -> None:
    results = []
    for backend in ("transformers", "native"):
        for prefill in (False, 4):
            generator = StreamGenerator(llama, byte_tokenizer, backend=backend, prefill=prefill)
            result = generator.generate(PROMPT, n=2, do_sample=True, seed=3, max_new_tokens=10)
            assert result.prefill.applied == (prefill == 4)
            results.append([choice.token_ids for choice in result.choices])
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("backend", BACKENDS)
def test_greedy_answers_would_all_be_the_same(llama: Any, byte_tokenizer: Any, backend: str) -> None:
    with pytest.raises(ValueError, match="greedy"):
        StreamGenerator(llama, byte_tokenizer, backend=backend).stream(PROMPT, n=2, do_sample=False)


def test_a_seed_repeats_and_leaves_the_global_generator_alone(generator: Any) -> None:
    options = {"do_sample": True, "temperature": 1.3, "top_p": 0.95, "max_new_tokens": 20}
    before = torch.get_rng_state()
    first = generator.generate(PROMPT, seed=11, **options)
    assert torch.equal(torch.get_rng_state(), before)
    assert generator.generate(PROMPT, seed=11, **options).token_ids == first.token_ids
    assert generator.generate(PROMPT, seed=12, **options).token_ids != first.token_ids
    assert torch.equal(torch.get_rng_state(), before)


def test_sampling_params(generator: Any) -> None:
    from unspool import SamplingParams

    greedy = generator.generate(PROMPT, do_sample=False, max_new_tokens=9)
    by_params = generator.generate(PROMPT, sampling=SamplingParams(temperature=0, max_tokens=9))
    assert by_params.token_ids == greedy.token_ids
    with pytest.raises(TypeError):
        generator.stream(PROMPT, sampling=3)


def test_penalties_count_the_answers_own_tokens() -> None:
    from unspool.generation.logits import make_penalties
    from unspool.generation.settings import GenerationSettings, SamplingParams

    settings = GenerationSettings({}, SamplingParams(presence_penalty=1.0, frequency_penalty=0.5))
    [penalty] = make_penalties(settings, prompt_length=2)
    scores = penalty(torch.tensor([[5, 5, 1, 1, 2]]), torch.zeros((1, 8)))
    assert scores.tolist() == [[0, -2.0, -1.5, 0, 0, 0, 0, 0]]
    assert make_penalties(GenerationSettings({}), 2) == []


def test_backends_draw_alike(llama: Any, byte_tokenizer: Any) -> None:
    options = {
        "do_sample": True, "temperature": 0.8, "top_k": 20, "top_p": 0.9, "min_p": 0.01, "seed": 5,
        "max_new_tokens": 20, "repetition_penalty": 1.2,
        "sampling": {"presence_penalty": 0.5, "frequency_penalty": 0.3},
    }  # fmt: skip
    ids = [
        StreamGenerator(llama, byte_tokenizer, backend=name).generate(PROMPT, **options).token_ids
        for name in BACKENDS
    ]
    assert ids[0] == ids[1]


# Refused at the call


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_beams": 2}, "num_beams is above 1"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"max_new_tokens": -3}, "max_new_tokens is -3"),
        ({"n": 0}, "n is 0"),
        ({"streamer": object()}, "iterate the stream that the call returns"),
        ({"stop_strings": ["a"]}, "pass stop="),
        ({"stop": [""]}, "stop"),
        ({"timeout": -1}, "timeout is -1"),
        ({"input_ids": [[1, 2], [3, 4]], "prompt": None}, "exactly one row"),
        ({"inputs_embeds": torch.zeros((2, 3, 4)), "prompt": None}, "exactly one row"),
        ({"inputs_embeds": torch.zeros((1, 3, 32))}, "given twice"),
        ({"prompt": [{"role": "user", "content": "Hi"}], "input_ids": [[1]]}, "given twice"),
        ({"prompt": None}, "there is no prompt"),
        ({"input_ids": [[1, 2]]}, "given twice"),
        ({"prompt": {"text": "a", "input_ids": [[1, 2]]}}, "given twice"),
        ({"prompt": object()}, "type object"),
    ],
)
def test_bad_arguments_raise_at_the_call(generator: Any, options: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        generator.stream(**{"prompt": PROMPT, **options})
    assert active_workers() == 0


def test_bad_makings(llama: Any, byte_tokenizer: Any, t5: Any) -> None:
    with pytest.raises(ArgumentError, match="no tokenizer"):
        StreamGenerator(llama)
    with pytest.raises(ArgumentError, match="backend is 'x'"):
        StreamGenerator(llama, byte_tokenizer, backend="x")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="decoder-only"):
        StreamGenerator(t5, byte_tokenizer, backend="native")
    with pytest.raises(ArgumentError, match=r"chunk_tokens is -?[0-9]; pass 1 or more"):
        StreamGenerator(llama, byte_tokenizer, prefill=0)
    with pytest.raises(TypeError):
        StreamGenerator(llama, byte_tokenizer, prefill=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="colour"):
        StreamGenerator(llama, byte_tokenizer, colour="red")


def test_the_vocabulary_is_compiled_when_the_generator_is_made(
    llama: Any, byte_tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = StreamGenerator(llama, copy.deepcopy(byte_tokenizer))
    compiled: list[Any] = []
    monkeypatch.setattr("unspool.core.vocabulary.vocabulary_sources._from_hugging_face", compiled.append)
    list(generator.stream(PROMPT, max_new_tokens=2))
    assert not compiled


def test_a_tokenizer_that_cannot_be_compiled_raises_at_the_call(llama: Any) -> None:
    with pytest.raises(VocabularyError, match="no way to read"):
        StreamGenerator(llama, object()).stream([1, 2])


def test_a_tokenizer_that_only_decodes_takes_ids(byte_tokenizer: Any, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("mistral_common")
    tekken = request.getfixturevalue("tekken")
    model = make_llama(byte_tokenizer, vocab_size=tekken.size, hidden_size=8, num_hidden_layers=1)
    generator = StreamGenerator(model, tekken.tokenizer)
    with pytest.raises(
        TypeError, match=r"a MistralTokenizer does not encode .* pass the prompt as token ids"
    ):
        generator.generate(PROMPT, max_new_tokens=2)
    result = generator.generate(tekken.encode(PROMPT), max_new_tokens=12, do_sample=False)
    assert result.text == tekken.decode(list(result.token_ids), True)


def test_the_native_loop_ignores_nothing(llama: Any, byte_tokenizer: Any) -> None:
    generator = StreamGenerator(llama, byte_tokenizer, backend="native")
    with pytest.raises(ArgumentError, match="does not know guidance_scale"):
        generator.stream(PROMPT, guidance_scale=2.0)
    changed = copy.deepcopy(llama.generation_config)
    changed.forced_eos_token_id = 3
    with pytest.raises(ArgumentError, match="does not know forced_eos_token_id"):
        generator.stream(PROMPT, generation_config=changed)


def test_a_prompt_that_trains_is_put_into_evaluation_mode_at_the_call(
    byte_tokenizer: Any, llama: Any
) -> None:
    model = copy.deepcopy(llama).train()
    texts = StreamGenerator(model, byte_tokenizer).stream_prompt(PROMPT, max_new_tokens=3)
    assert model.training is False
    list(texts)


# What goes wrong


def test_the_models_exception_arrives_as_itself_after_what_came_before(generator: Any) -> None:
    for error in (RuntimeError("the model broke"), KeyboardInterrupt(), SystemExit(1)):
        stream = paced(generator, Pace(fails_at=4, error=error))
        got = []
        with pytest.raises(type(error)) as raised:
            for delta in stream:
                got.append(delta.text)
        assert raised.value is error
        assert "".join(got) == letters(3)
        assert "__call__" in [frame.name for frame in raised.traceback]
        assert stream.result.finish_reason == "error"
        assert list(stream) == []


def test_a_failed_request_leaves_nothing_to_the_next(generator: Any) -> None:
    config = generator.model.generation_config
    before = config.to_dict()
    expected = generator.generate(PROMPT, max_new_tokens=10, do_sample=False).token_ids
    with pytest.raises(RuntimeError):
        generator.generate(PROMPT, logits_processor=[Pace(fails_at=3)], max_new_tokens=10, do_sample=False)
    assert generator.generate(PROMPT, max_new_tokens=10, do_sample=False).token_ids == expected
    assert generator.model.generation_config is config
    assert config.to_dict() == before


@pytest.mark.parametrize("name", ["timeout", "stream_timeout"])
def test_a_timeout_comes_although_the_model_is_stuck(generator: Any, name: str) -> None:
    pace = Pace(waits_at=3)
    stream = paced(generator, pace, **{name: 0.5})
    got = []
    begin = time.monotonic()
    with pytest.raises(StreamTimeout) as raised:
        for delta in stream:
            got.append(delta.text)
            begin = time.monotonic()
    assert 0.4 < time.monotonic() - begin < 8  # within 50 ms on a quiet machine; the model is stuck for 10 s
    assert isinstance(raised.value, (TimeoutError, queue.Empty))
    assert "".join(got) == letters(2)
    # In a batch, a thread of all requests runs the model, and the stream's own need not wait for it.
    assert stream.is_running or generator.backend == "batched"
    pace.go_on.set()
    assert wait_for(lambda: not stream.is_running)
    assert pace.steps <= 4
    assert stream.result.finish_reason == "cancelled"


def test_tokens_that_are_held_back_are_a_sign_of_life(generator: Any) -> None:
    stream = generator.stream(
        PROMPT, logits_processor=[Pace(pause_s=0.2)], max_new_tokens=12, do_sample=False, timeout=2.0,
        stop=[letters(11) + "#"],
    )  # fmt: skip
    assert "".join(delta.text for delta in stream) == letters(12)  # nothing for 2.4 s, then all


@pytest.mark.parametrize("how", ["break", "close", "drop", "exception", "text"])
def test_leaving_early_returns_at_once_and_stops_the_model(generator: Any, how: str) -> None:
    pace = Pace(pause_s=0.05)
    stream: Any = paced(generator, pace, count=200)  # 10 s
    begin = 0.0
    if how == "break":
        with stream:
            for _ in stream:
                begin = time.monotonic()
                break
    elif how == "close":
        next(stream)
        begin = time.monotonic()
        stream.close()
        assert list(stream) == []
    elif how == "drop":
        next(stream)
        begin = time.monotonic()
        del stream  # nothing else refers to it
    elif how == "exception":
        with pytest.raises(ZeroDivisionError), stream:
            for _ in stream:
                begin = time.monotonic()
                raise ZeroDivisionError
    else:
        texts = stream.text()
        next(texts)
        begin = time.monotonic()
        texts.close()
    took, steps = time.monotonic() - begin, pace.steps
    assert took < 5  # 50 ms on a quiet machine; the model takes 10 s
    assert wait_for(lambda: active_workers() == 0)
    assert pace.steps - steps <= 2


def test_who_leaves_at_the_finish_reason_has_a_whole_answer(
    generator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = threading.Event()

    @contextlib.contextmanager
    def lingering() -> Any:
        with torch.inference_mode():
            yield
            left.wait(5)

    monkeypatch.setattr("unspool.generation.worker.inference_mode", lingering)
    with paced(generator, Pace(), count=3) as stream:
        for delta in stream:
            if delta.finish_reason:
                break
    left.set()
    assert stream.result.finish_reason == "length"


def test_a_stream_is_not_copied(generator: Any) -> None:
    with paced(generator, Pace(pause_s=0.005), count=9) as stream:
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="running generation"):
                make(stream)
        gc.collect()
        assert "".join(delta.text for delta in stream) == letters(9)


@pytest.mark.parametrize("tokens_per_text", [None, 3])
def test_what_only_looks_like_a_call_is_in_the_text(generator: Any, tokens_per_text: int | None) -> None:
    answer = "Look: <tool_call>no json</tool_call> End."
    ids = generator.tokenizer(answer, add_special_tokens=False)["input_ids"]
    steps = iter([*ids, generator.tokenizer.eos_token_id])

    def force(_: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        forced = torch.full_like(scores, float("-inf"))
        forced[:, next(steps)] = 0
        return forced

    reader = StreamGenerator(generator.model, generator.tokenizer, format="hermes", backend=generator.backend)
    stream = reader.stream(PROMPT, logits_processor=[force], max_new_tokens=99, do_sample=False)
    text = "".join(stream.text(tokens_per_text))
    assert text == stream.result.text
    assert "<tool_call>no json</tool_call>" in text


def test_texts_of_so_many_tokens(generator: Any) -> None:
    texts = list(paced(generator, Pace(), count=7).text(3))
    assert texts == ["bcd", "efg", "h"]
    with (
        paced(generator, Pace(), count=7) as stream,
        pytest.raises(ArgumentError, match="tokens_per_text is 0"),
    ):
        stream.text(0)


def test_cancelling_from_another_thread_ends_the_iteration(generator: Any) -> None:
    pace = Pace(pause_s=0.02)
    stream = paced(generator, pace, count=500)
    threading.Timer(0.1, stream.cancel).start()
    assert len(list(stream)) < 400
    assert stream.result.finish_reason == "cancelled"
    assert stream.message.finish_reason in (None, "cancelled")


def test_leaving_during_prefill(llama: Any, byte_tokenizer: Any) -> None:
    forwards: list[int] = []
    gate = threading.Event()

    def slow(*_: Any) -> None:
        forwards.append(1)
        gate.set()
        time.sleep(0.02)

    handle = llama.register_forward_pre_hook(slow)
    for backend in BACKENDS:
        gate.clear()
        forwards.clear()
        stream = StreamGenerator(llama, byte_tokenizer, backend=backend, prefill=1).stream("x" * 500)
        assert gate.wait(5)
        stream.close()
        count = len(forwards)
        assert wait_for(lambda stream=stream: not stream.is_running)  # type: ignore[misc]
        assert len(forwards) - count <= 2
    handle.remove()


@pytest.mark.parametrize("fault", ["no end", "end raises", "text breaks"])
def test_the_end_always_comes(byte_tokenizer: Any, fault: str) -> None:
    class Model:
        """A generate of somebody's own."""

        config, generation_config, device = SimpleNamespace(), None, None

        def generate(self, input_ids: Any, streamer: Any, **_: Any) -> Any:
            streamer.put(input_ids)
            for id in (65, 66):
                streamer.put(torch.tensor([id]))
            if fault == "text breaks":
                streamer.put(torch.tensor([10**6]))
                streamer.put(torch.tensor([-1]))
            if fault == "end raises":
                streamer.end()
                raise RuntimeError("end")
            return torch.cat([input_ids, torch.tensor([[65, 66]])], dim=1)

    generator = StreamGenerator(Model(), byte_tokenizer)
    begin = time.monotonic()
    if fault == "no end":
        assert generator.generate(PROMPT, max_new_tokens=2).text == "bc"
    else:
        with pytest.raises((RuntimeError, ValueError)):
            generator.generate(PROMPT, max_new_tokens=2)
    assert time.monotonic() - begin < 5


def test_a_generate_without_streamer_is_run_without(byte_tokenizer: Any, llama: Any, one_shot: Any) -> None:
    calls: list[bool] = []

    class Model:
        config, generation_config, device = llama.config, llama.generation_config, llama.device

        def generate(self, **options: Any) -> Any:
            calls.append("streamer" in options)
            if "streamer" in options:
                raise TypeError("generate() got an unexpected keyword argument 'streamer'")
            return llama.generate(**options)

        def forward(self, **options: Any) -> Any:
            return llama(**options)

    ids = byte_tokenizer(PROMPT, return_tensors="pt")["input_ids"]
    result = StreamGenerator(Model(), byte_tokenizer, prefill=4).generate(
        PROMPT, max_new_tokens=20, do_sample=False
    )
    assert list(result.token_ids) == one_shot(llama, input_ids=ids)
    assert calls == [True, False]

    class Broken(Model):
        def generate(self, **options: Any) -> Any:
            calls.append("streamer" in options)
            raise TypeError("something else")

    calls.clear()
    with pytest.raises(TypeError, match="something else"):
        StreamGenerator(Broken(), byte_tokenizer).generate(PROMPT)
    assert calls == [True], "an error of its own is not run into twice"

    class Late(Model):
        def generate(self, streamer: Any = None, **options: Any) -> Any:
            calls.append(streamer is not None)
            llama.generate(**options, streamer=streamer)
            raise TypeError("a streamer that breaks at its end")

    calls.clear()
    with pytest.raises(TypeError, match="breaks at its end"):
        StreamGenerator(Late(), byte_tokenizer).generate(PROMPT, max_new_tokens=2)
    assert calls == [True], "an answer that was begun is not begun again"


def test_inference_mode_is_the_workers_alone(generator: Any) -> None:
    pace = Pace()
    stream = paced(generator, pace, count=4)
    modes = [torch.is_inference_mode_enabled() for _ in stream]
    assert pace.modes == [True] * 4
    assert not any(modes)
    assert not torch.is_inference_mode_enabled()


def test_nothing_global_changes(generator: Any) -> None:
    import torch._dynamo

    def look() -> Any:
        return (
            torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_num_threads(),
            torch._dynamo.config.disable, torch.get_rng_state().tolist(),
        )  # fmt: skip

    before = look()
    stream = paced(generator, Pace(), count=5)
    next(stream)
    assert look() == before
    list(stream)
    assert look() == before


# Hooks


class Hook(ConditioningHook):
    def __init__(self, fails_in: str | None = None) -> None:
        self.fails_in = fails_in
        self.log: list[str] = []
        self.active = 0

    def setup(self, inputs: Any) -> None:
        self.log.append("setup")
        self.active += 1
        assert self.active == 1, "two requests at once"
        assert torch.is_inference_mode_enabled()
        assert inputs["input_ids"].shape[0] == 1
        if self.fails_in == "setup":
            raise RuntimeError("setup broke")

    def cleanup(self) -> None:
        self.log.append("cleanup")
        self.active -= 1
        if self.fails_in == "cleanup":
            raise RuntimeError("cleanup broke")


@pytest.mark.parametrize("backend", ["transformers", "native"])
@pytest.mark.parametrize("end", ["success", "setup", "generate", "cleanup", "early exit", "timeout", "sync"])
def test_cleanup_runs_exactly_once(llama: Any, byte_tokenizer: Any, backend: str, end: str) -> None:
    hook = Hook(end if end in ("setup", "cleanup") else None)
    generator = StreamGenerator(llama, byte_tokenizer, backend=backend, hook=hook)
    pace = Pace(
        fails_at=3 if end == "generate" else None, waits_at=3 if end == "timeout" else None, pause_s=0.01
    )
    options = {"logits_processor": [pace], "max_new_tokens": 30, "do_sample": False}
    if end == "early exit":
        with generator.stream(PROMPT, **options) as stream:
            next(stream)
    elif end == "timeout":
        with pytest.raises(TimeoutError):
            list(generator.stream(PROMPT, timeout=0.1, **options))
        pace.go_on.set()
    elif end in ("setup", "generate", "cleanup"):
        texts: list[str] = []
        with pytest.raises(RuntimeError, match="broke"):
            for delta in generator.stream(PROMPT, **options):
                texts.append(delta.text)
        assert "".join(texts) == letters({"setup": 0, "generate": 2, "cleanup": 30}[end])
    elif end == "sync":
        result = generator.generate(PROMPT, **options)
        assert "hook" in result.metadata["chunked_prefill_activation_reason"]
    else:
        list(generator.stream(PROMPT, **options))
    assert wait_for(lambda: active_workers() == 0)
    assert hook.log == ["setup", "cleanup"]


def test_the_models_error_goes_before_that_of_the_cleanup(llama: Any, byte_tokenizer: Any) -> None:
    for fails_in, message in (("cleanup", "the model broke"), ("setup", "setup broke")):
        hook = Hook(fails_in)
        if fails_in == "setup":
            hook.cleanup = lambda: (_ for _ in ()).throw(RuntimeError("cleanup broke"))  # type: ignore[method-assign]
        generator = StreamGenerator(llama, byte_tokenizer, hook=hook)
        with pytest.raises(RuntimeError, match=message):
            list(
                generator.stream(
                    PROMPT, logits_processor=[Pace(fails_at=2)], max_new_tokens=5, do_sample=False
                )
            )


def test_streams_on_a_model_with_a_hook_are_serialised(llama: Any, byte_tokenizer: Any) -> None:
    hook = Hook()
    generators = [
        StreamGenerator(llama, byte_tokenizer, backend=backend, hook=hook)
        for backend in ("transformers", "native")
    ]
    streams = [
        generator.stream(PROMPT, logits_processor=[Pace(pause_s=0.005)], max_new_tokens=8, do_sample=False)
        for generator in generators * 2
    ]
    for stream in streams:
        assert "".join(delta.text for delta in stream) == letters(8)
    assert hook.log == ["setup", "cleanup"] * 4


def test_one_who_waits_for_the_model_can_leave(llama: Any, byte_tokenizer: Any) -> None:
    hook = Hook()
    generator = StreamGenerator(llama, byte_tokenizer, hook=hook)
    pace = Pace(waits_at=2)
    first = paced(generator, pace, count=4)
    next(first)
    second = paced(generator, Pace())
    second.close()
    assert wait_for(lambda: not second.is_running)
    pace.go_on.set()
    list(first)
    assert hook.log == ["setup", "cleanup"]


def test_a_hook_may_change_the_inputs(llama: Any, byte_tokenizer: Any) -> None:
    class Swap(ConditioningHook):
        def setup(self, inputs: Any) -> Any:
            return {"inputs_embeds": llama.get_input_embeddings()(inputs["input_ids"])}

        def cleanup(self) -> None: ...

    plain = StreamGenerator(llama, byte_tokenizer).generate(PROMPT, max_new_tokens=8, do_sample=False)
    for backend in ("transformers", "native"):
        swapped = StreamGenerator(llama, byte_tokenizer, backend=backend, hook=Swap())
        assert swapped.generate(PROMPT, max_new_tokens=8, do_sample=False).token_ids == plain.token_ids


@pytest.mark.parametrize(
    ("changed", "message"), [({}, "there is no prompt"), ({"input_ids": [[1, 2], [3, 4]]}, "exactly one row")]
)
def test_what_a_hook_gives_is_checked(llama: Any, byte_tokenizer: Any, changed: Any, message: str) -> None:
    class Give(ConditioningHook):
        def setup(self, inputs: Any) -> Any:  # noqa: ARG002
            return changed

        def cleanup(self) -> None: ...

    with pytest.raises(ArgumentError, match=message):
        StreamGenerator(llama, byte_tokenizer, hook=Give()).generate(PROMPT, max_new_tokens=2)


def test_a_hook_without_its_methods_says_which(llama: Any, byte_tokenizer: Any) -> None:
    class Half(ConditioningHook):
        def setup(self, inputs: Any) -> None: ...

    with pytest.raises(NotImplementedError, match=r"Half\.cleanup"):
        StreamGenerator(llama, byte_tokenizer, hook=Half()).generate(PROMPT, max_new_tokens=2)
    with pytest.raises(NotImplementedError, match=r"ConditioningHook\.setup"):
        ConditioningHook().setup({})


# asyncio


def test_async_consumers(generator: Any) -> None:
    async def consume() -> str:
        async with generator.astream(
            PROMPT, logits_processor=[Pace()], max_new_tokens=9, do_sample=False
        ) as stream:
            return "".join([delta.text async for delta in stream])

    assert asyncio.run(consume()) == letters(9)


def test_async_leaving_and_timeout(generator: Any) -> None:
    pace = Pace(pause_s=0.02)

    async def leave() -> int:
        async with paced(generator, pace, count=500) as stream:
            async for _ in stream:
                break
        return pace.steps

    steps = asyncio.run(leave())
    assert wait_for(lambda: active_workers() == 0)
    assert pace.steps - steps <= 2
    stuck = Pace(waits_at=2)

    async def wait() -> None:
        async for _ in paced(generator, stuck, timeout=0.1):
            pass

    with pytest.raises(StreamTimeout):
        asyncio.run(wait())
    stuck.go_on.set()


def test_a_second_task_is_refused_and_the_first_goes_on(generator: Any) -> None:
    async def consume(stream: Any) -> str:
        return "".join([delta.text async for delta in stream])

    async def both() -> Any:
        pace = Pace(waits_at=5)
        stream = paced(generator, pace, count=9)
        tasks = [asyncio.ensure_future(consume(stream)) for _ in range(2)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        pace.go_on.set()
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)

    first, second = asyncio.run(both())
    assert first == letters(9)
    assert isinstance(second, RuntimeError)
    assert "one consumer" in str(second)


def test_async_errors_and_cancelled_tasks(generator: Any) -> None:
    pace = Pace(fails_at=3)

    async def fail() -> None:
        async for _ in paced(generator, pace):
            pass

    with pytest.raises(RuntimeError, match="the model broke"):
        asyncio.run(fail())
    slow = Pace(pause_s=0.02)

    async def cancelled() -> int:
        async def consume() -> None:
            async for _ in paced(generator, slow, count=500):
                pass

        task = asyncio.create_task(consume())
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return slow.steps

    steps = asyncio.run(cancelled())
    assert wait_for(lambda: active_workers() == 0)
    assert slow.steps - steps <= 2
