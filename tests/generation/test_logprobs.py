"""Log-probabilities: those of the model's own scores, of every id, on both backends."""

from __future__ import annotations

import dataclasses
import math
import threading
from typing import Any

import pytest
import torch
from unspool import Delta, SamplingParams, StreamGenerator, Vocabulary, WireWriter
from unspool.errors import ArgumentError
from unspool.generation import TokenLogprob
from unspool.generation.logprobs import LogprobRecorder, recorded
from unspool.generation.rows import Rows

from ..tiny_models import make_llama
from .helpers import BACKENDS

PROMPT = "The quick brown fox jumps over the lazy dog."
# Everything that shapes the scores before a token is chosen by them.
SHAPED: dict[str, Any] = {
    "temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.01, "repetition_penalty": 1.3,
    "presence_penalty": 0.5, "frequency_penalty": 0.5, "seed": 1,
}  # fmt: skip
REQUESTS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0.0},
    "penalties": {"temperature": 0.0, "repetition_penalty": 1.5, "frequency_penalty": 1.0},
    "seeded": SHAPED,
    "sampled": {**SHAPED, "seed": None},
    "answers": {**SHAPED, "n": 2},
}


def expected_logprobs(model: Any, prompt_ids: list[int], ids: tuple[int, ...]) -> torch.Tensor:
    """Of all ids at each place of the answer: one forward over prompt and answer."""
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[*prompt_ids, *ids]])).logits[0]
    return torch.log_softmax(logits.float(), dim=-1)[len(prompt_ids) - 1 : -1]


def check(choice: Any, expected: torch.Tensor, top_count: int) -> None:
    assert len(choice.logprobs) == len(choice.token_ids) == len(expected)
    for id, entry, row in zip(choice.token_ids, choice.logprobs, expected, strict=True):
        assert entry.token_id == id
        assert entry.logprob == pytest.approx(row[id].item(), abs=1e-4)
        best = row.topk(top_count).values.tolist()
        assert [rival.logprob for rival in entry.top] == pytest.approx(best, abs=1e-4)
        assert all(
            rival.logprob == pytest.approx(row[rival.token_id].item(), abs=1e-4) for rival in entry.top
        )
        assert len({rival.token_id for rival in entry.top}) == top_count


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("chunk", [False, 3, 8])
def test_they_are_those_of_one_forward(
    llama: Any, byte_tokenizer: Any, backend: Any, request_name: str, chunk: Any
) -> None:
    """Whatever shapes the scores, in whatever chunks the prompt is run, and for each answer."""
    request = REQUESTS[request_name]
    generator = StreamGenerator(llama, byte_tokenizer, backend=backend, prefill=chunk)
    sampling = SamplingParams(max_tokens=12, logprobs=5, **request)
    result = generator.generate(PROMPT, sampling=sampling)
    prompt_ids = byte_tokenizer(PROMPT)["input_ids"]
    assert result.prefill.applied == (bool(chunk) and backend != "batched")
    assert len(result.choices) == request.get("n", 1)
    for choice in result.choices:
        check(choice, expected_logprobs(llama, prompt_ids, choice.token_ids), 5)
    if request_name == "answers":
        assert result.choices[0].token_ids != result.choices[1].token_ids
    if request.get("seed") is not None or not request["temperature"]:  # they change nothing
        without = generator.generate(PROMPT, sampling=sampling.replace(logprobs=None))
        assert [choice.token_ids for choice in without.choices] == [
            choice.token_ids for choice in result.choices
        ]
        assert without.choices[0].logprobs is None


@pytest.mark.parametrize("top_count", [0, 1, 20])
@pytest.mark.parametrize("backend", BACKENDS)
def test_how_many_rivals(llama: Any, byte_tokenizer: Any, backend: Any, top_count: int) -> None:
    generator = StreamGenerator(llama, byte_tokenizer, backend=backend)
    # As an option of the call too.
    choice = generator.generate(PROMPT, max_new_tokens=4, do_sample=False, logprobs=top_count).choices[0]
    check(choice, expected_logprobs(llama, byte_tokenizer(PROMPT)["input_ids"], choice.token_ids), top_count)
    if top_count:
        assert all(entry.top[0].token_id == entry.token_id for entry in choice.logprobs)  # greedy


def test_a_decoder_after_an_encoder(t5: Any, byte_tokenizer: Any) -> None:
    generator = StreamGenerator(t5, byte_tokenizer)
    choice = generator.generate(PROMPT, max_new_tokens=6, do_sample=False, logprobs=2).choices[0]
    source = torch.tensor([byte_tokenizer(PROMPT)["input_ids"]])
    target = torch.tensor([[t5.config.decoder_start_token_id, *choice.token_ids]])
    with torch.inference_mode():
        logits = t5(input_ids=source, decoder_input_ids=target).logits[0, :-1]
    check(choice, torch.log_softmax(logits.float(), dim=-1), 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_they_go_with_their_deltas(llama: Any, byte_tokenizer: Any, backend: Any) -> None:
    """The spans of the deltas are all of the ids; half characters, written at random, among them."""
    generator = StreamGenerator(llama, byte_tokenizer, backend=backend, format="none")
    stream = generator.stream(PROMPT, max_new_tokens=40, do_sample=True, seed=3, logprobs=1)
    entries: list[TokenLogprob] = []
    for delta in stream:
        entries += stream.logprobs_of(delta)
        assert len(entries) == delta.token_span[1]
    choice = stream.result.choices[0]
    assert tuple(entries) == choice.logprobs
    raw = byte_tokenizer.decode(choice.token_ids, skip_special_tokens=False)
    assert b"".join(entry.token for entry in entries).decode("utf-8", "replace") == raw


def test_the_tokens_of_a_delta_are_its_text(llama: Any, byte_tokenizer: Any) -> None:
    ids = byte_tokenizer("Zürich 👩 naïve")["input_ids"]
    generator = StreamGenerator(llama, byte_tokenizer, format="none")
    stream = generator.stream(PROMPT, logits_processor=[_force(ids)], max_new_tokens=len(ids), logprobs=1)
    for delta in stream:
        assert b"".join(entry.token for entry in stream.logprobs_of(delta)).decode() == delta.text


def test_special_tokens_have_their_names(llama: Any, byte_tokenizer: Any) -> None:
    """The end token too, which no delta shows."""
    ids = byte_tokenizer("<think>hm</think>ö<eos>")["input_ids"]
    generator = StreamGenerator(llama, byte_tokenizer, format="qwen3")
    choice = generator.generate(PROMPT, logits_processor=[_force(ids)], logprobs=0).choices[0]
    assert choice.token_ids == tuple(ids)
    tokens = [entry.token for entry in choice.logprobs]
    assert tokens == [b"<think>", b"h", b"m", b"</think>", b"\xc3", b"\xb6", b"<eos>"]
    check(choice, expected_logprobs(llama, byte_tokenizer(PROMPT)["input_ids"], choice.token_ids), 0)


def test_ids_beyond_the_tokenizer(byte_tokenizer: Any) -> None:
    """A model's table is often larger than its tokenizer's."""
    model = make_llama(byte_tokenizer, vocab_size=len(byte_tokenizer) + 50)
    id = len(byte_tokenizer) + 7
    generator = StreamGenerator(model, byte_tokenizer)
    choice = generator.generate(
        PROMPT, logits_processor=[_force([id, id])], max_new_tokens=2, logprobs=3
    ).choices[0]
    assert [entry.token for entry in choice.logprobs] == [b"", b""]
    check(choice, expected_logprobs(model, byte_tokenizer(PROMPT)["input_ids"], (id, id)), 3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_model_that_overflows(llama: Any, byte_tokenizer: Any, scripted: Any, backend: Any) -> None:
    """Minus infinity is a value; of NaN nothing is known, and the stream goes on."""
    model = scripted({PROMPT: "ab"})
    generator = StreamGenerator(model.model, byte_tokenizer, backend=backend, prefill=False)
    first, second, _ = (
        generator.generate(PROMPT, max_new_tokens=9, do_sample=False, logprobs=2).choices[0].logprobs
    )
    assert (first.token, first.logprob, second.token, second.logprob) == (b"a", 0.0, b"b", 0.0)
    assert first.top[1].logprob == -math.inf

    def overflow(_: Any, __: Any, output: Any) -> None:
        output.logits.fill_(math.nan)

    handle = llama.register_forward_hook(overflow)
    try:
        generator = StreamGenerator(llama, byte_tokenizer, backend=backend, prefill=False)
        choice = generator.generate(PROMPT, max_new_tokens=2, do_sample=False, logprobs=1).choices[0]
    finally:
        handle.remove()
    assert {entry.logprob for entry in choice.logprobs} == {-math.inf}
    writer = WireWriter("chat_completions", model="m")
    writer.add_logprobs(0, [(entry.token, entry.logprob) for entry in choice.logprobs])


@pytest.mark.parametrize("backend", BACKENDS)
def test_streams_side_by_side(llama: Any, byte_tokenizer: Any, backend: Any) -> None:
    """The model is not changed: streams in other threads keep to their own, and to none."""
    generator = StreamGenerator(llama, byte_tokenizer, backend=backend)
    before = dict(vars(llama)), type(llama)
    results: dict[int, Any] = {}

    def run(number: int) -> None:
        top = None if number == 0 else number
        results[number] = generator.generate(
            PROMPT[number:], max_new_tokens=15, do_sample=True, seed=number, logprobs=top
        )

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0].choices[0].logprobs is None
    for number in (1, 2, 3):
        choice = results[number].choices[0]
        prompt_ids = byte_tokenizer(PROMPT[number:])["input_ids"]
        check(choice, expected_logprobs(llama, prompt_ids, choice.token_ids), number)
    assert (dict(vars(llama)), type(llama)) == before


@pytest.mark.parametrize("protocol", ["chat_completions", "completions"])
@pytest.mark.parametrize("pause", [1, 2, 5])
def test_drained_to_a_writer(llama: Any, byte_tokenizer: Any, protocol: str, pause: int) -> None:
    """However many deltas are ready together: each id once, in order, none after its delta."""
    generator = StreamGenerator(llama, byte_tokenizer, format="none")
    options: dict[str, Any] = {"max_new_tokens": 30, "do_sample": True, "seed": 2, "logprobs": 1, "n": 2}
    stream = generator.stream(PROMPT, **options)
    spy = _Spy(protocol)
    gathered: list[Delta] = []
    for number, delta in enumerate(stream):
        gathered.append(delta)
        if number % pause == 0:
            stream.write_to(spy, gathered)  # type: ignore[arg-type]
            gathered = []
    stream.write_to(spy, gathered)  # type: ignore[arg-type]
    for choice in stream.result.choices:
        assert [entry[:2] for entry in spy.entries[choice.index]] == [
            (entry.token, entry.logprob) for entry in choice.logprobs or ()
        ]


def test_they_are_there_before_their_deltas(byte_tokenizer: Any) -> None:
    """Who takes a delta finds them: they are added before its ids are put."""

    class Streamer:
        is_stopped = False
        ids = 0

        def put(self, ids: list[int]) -> None:
            self.ids += len(ids)
            assert rows.logprobs is not None
            assert len(rows.logprobs[0]) == self.ids

    recorder = LogprobRecorder(0, Vocabulary.from_tokenizer(byte_tokenizer))
    streamer: Any = Streamer()
    rows = Rows([streamer], recorder=recorder)
    for id in (3, 1):
        recorder.see(torch.zeros((1, 5)))
        rows.put_step([id])
    assert streamer.ids == 2


class _Spy:
    """A writer that asserts that nothing comes late."""

    def __init__(self, protocol: str) -> None:
        self.writer = WireWriter(protocol, model="m", n=2)
        self.entries: list[list[Any]] = [[], []]

    def add_logprobs(self, choice: int, entries: list[Any]) -> None:
        self.entries[choice] += entries
        self.writer.add_logprobs(choice, entries)

    def write(self, deltas: list[Delta]) -> bytes:
        for delta in deltas:
            assert len(self.entries[delta.choice]) >= delta.token_span[1]
        return self.writer.write(deltas)


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_is_kept_of_the_scores(llama: Any, byte_tokenizer: Any, backend: Any) -> None:
    """Of a step's scores only what was asked for is left when its ids are there."""
    generator = StreamGenerator(llama, byte_tokenizer, backend=backend)
    stream = generator.stream(PROMPT, max_new_tokens=20, do_sample=False, logprobs=2)
    for _ in stream:
        pass
    recorder: Any = stream._run.answers.recorder
    assert len(recorder._pending) == 0
    entry = stream.result.choices[0].logprobs[0]  # type: ignore[index]
    assert isinstance(entry, TokenLogprob)
    assert dataclasses.astuple(entry)[0] == entry.token_id


def test_what_is_no_number_of_rivals(llama: Any, byte_tokenizer: Any) -> None:
    for wrong in (-1, 21):
        with pytest.raises(ArgumentError, match=r"logprobs is -?[0-9]+; pass 0 to 20"):
            SamplingParams(logprobs=wrong)
        with pytest.raises(ArgumentError, match="pass 0 to 20"):
            StreamGenerator(llama, byte_tokenizer).stream(PROMPT, logprobs=wrong)
    with pytest.raises(TypeError, match="logprobs"):
        SamplingParams(logprobs=True)
    with pytest.raises(TypeError, match="logprobs"):
        StreamGenerator(llama, byte_tokenizer).stream(PROMPT, logprobs=2.5)
    assert SamplingParams.from_json(SamplingParams(logprobs=0).to_json()).logprobs == 0
    assert SamplingParams().with_defaults(SamplingParams(logprobs=3)).logprobs == 3
    assert SamplingParams(logprobs=0).with_defaults(SamplingParams(logprobs=3)).logprobs == 0


def test_models_without_log_probabilities(llama: Any, byte_tokenizer: Any) -> None:
    """Said at the call where it can be seen, else with the first step."""

    class Other:
        config, generation_config, device = llama.config, llama.generation_config, llama.device

        def generate(self, **options: Any) -> Any:
            return llama.generate(**options)

    with pytest.raises(ArgumentError, match="backend='native'"):
        StreamGenerator(Other(), byte_tokenizer).stream(PROMPT, logprobs=1)
    generator = StreamGenerator(llama, byte_tokenizer)
    with pytest.raises(ArgumentError, match="prompt_lookup_num_tokens"):
        generator.stream(PROMPT, logprobs=1, prompt_lookup_num_tokens=2)

    class Bypassing(type(llama)):  # type: ignore[misc]
        def generate(self, *_: Any, **options: Any) -> Any:
            return llama.generate(**options)

    own = Bypassing(llama.config).eval()
    with pytest.raises(ArgumentError, match="one id of each answer a step"):
        StreamGenerator(own, byte_tokenizer).generate(PROMPT, max_new_tokens=2, logprobs=1)


def test_the_recorder_takes_what_it_was_shown(byte_tokenizer: Any) -> None:
    recorder = LogprobRecorder(1, Vocabulary.from_tokenizer(byte_tokenizer))
    scores = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    with pytest.raises(ArgumentError, match="one id of each answer"):
        recorder.take([0, 0])
    recorder.see(scores)
    scores.zero_()  # a later processor may do this
    recorder.see(scores)  # one step late is still in step
    with pytest.raises(ArgumentError, match="one id of each answer"):
        recorder.see(scores)
    with pytest.raises(ArgumentError, match="one id of each answer"):
        recorder.take([0])
    first, second = recorder.take([0, 0]), recorder.take([1, 1])
    assert [entry.logprob for entry in first] == pytest.approx([-1.3133, -0.1269], abs=1e-3)
    assert [entry.top[0].token_id for entry in first] == [1, 0]
    assert [entry.logprob for entry in second] == pytest.approx([-math.log(2)] * 2)


def test_the_recorded_model_is_the_model(llama: Any) -> None:
    twin = recorded(llama, lambda _: None)
    assert isinstance(twin, type(llama))
    assert type(twin).__name__ == type(llama).__name__
    assert vars(twin) is vars(llama)
    assert type(twin).can_generate()
    del twin
    assert llama.lm_head is not None


def _force(ids: list[int]) -> Any:
    """A processor that makes the model write these ids, by changing its scores in place."""
    steps = iter(ids)

    def force(_: Any, scores: Any) -> Any:
        scores.fill_(-math.inf)
        scores[:, next(steps)] = 0.0
        return scores

    return force
