"""process_prompt: outputs, texts, and what it refuses."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest
import torch
from unspool import ArgumentError, SamplingParams
from unspool.generation import active_workers
from unspool.integrations.easydel import InferenceConfig, PromptOutput, SampleState, vInference
from unspool.streams.channel_stream import TextGatherer

PROMPT = "Tell me a story."
EMOJI = "ok 👩‍👩‍👧 naïve – 日本語, done 🙂"
BACKENDS = ["transformers", "native"]


def make(model: Any, tokenizer: Any, backend: str = "transformers", **config: Any) -> vInference:
    return vInference(model, tokenizer, backend=backend, config=InferenceConfig(**config))  # type: ignore[arg-type]


def collect(texts: Any) -> tuple[list[str], Any]:
    """What a generator gives, and what it returns."""
    pieces = []
    while True:
        try:
            pieces.append(next(texts))
        except StopIteration as end:
            return pieces, end.value


PREFILL_S = 0.2


def slow_prefill(model: Any) -> list[float]:
    """The first token takes so much longer that a rate with the prefill in it shows; when it was over."""
    ends: list[float] = []

    def wait(_: Any, __: Any, inputs: dict[str, Any]) -> None:
        if inputs["input_ids"].shape[1] > 1:
            time.sleep(PREFILL_S)
            ends.append(time.perf_counter())

    model.register_forward_pre_hook(wait, with_kwargs=True)
    return ends


def check_rate(state: SampleState, tokens: int, prefill_ends: list[float]) -> None:
    """The rate is that of decoding: the prefill, which gives the first token, is not in its seconds."""
    decode_s = time.perf_counter() - prefill_ends[-1]
    assert state.time_to_first_token_s is not None
    assert state.time_to_first_token_s >= PREFILL_S
    assert 0 < state.time_spent_s <= decode_s
    assert state.tokens_per_second == pytest.approx(tokens / state.time_spent_s)


# Outputs


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_output_is_what_generate_gives(llama: Any, byte_tokenizer: Any, backend: str) -> None:
    generator = make(llama, byte_tokenizer, backend)
    expected = generator.generate(PROMPT, max_new_tokens=5, do_sample=False)
    ids = byte_tokenizer(PROMPT)["input_ids"]
    parameters = SamplingParams(temperature=0, max_tokens=5)
    for prompt in (PROMPT, ids, {"prompt": PROMPT}):
        for given in (parameters, parameters.to_dict(), {"temperature": 0, "max_tokens": 5}):
            output = generator.process_prompt(prompt, given)
            assert type(output) is PromptOutput
            assert output.text == expected.text
            assert (output.generated_tokens, output.finish_reason, output.error) == (5, "length", None)
            assert output.tokens_per_second is not None
            assert output.tokens_per_second > 0


def test_messages(scripted: Any, byte_tokenizer: Any) -> None:
    model = scripted({"USER: Hi\nASSISTANT:": "Hello."})
    generator = make(model.model, byte_tokenizer)
    output = generator.process_prompt([{"role": "user", "content": "Hi"}])
    assert (output.text, output.finish_reason) == ("Hello.", "stop")


def test_texts_are_several_prompts_one_after_the_other(scripted: Any, byte_tokenizer: Any) -> None:
    model = scripted({"first": "one", "second": "two", "third": ""})
    outputs = make(model.model, byte_tokenizer).process_prompt(["first", "second", "third"])
    assert [output.text for output in outputs] == ["one", "two", ""]
    assert model.prompts == ["first", "second", "third"]


def test_an_answer_without_text_is_an_output_all_the_same(scripted: Any, byte_tokenizer: Any) -> None:
    # Generation ends in prefill: EasyDeL gives "" for the object here.
    generator = make(scripted({PROMPT: ""}).model, byte_tokenizer)
    assert generator.process_prompt(PROMPT) == PromptOutput("", 1, None, None, "stop")
    texts, state = collect(generator.process_prompt(PROMPT, stream=True))
    assert texts == []
    assert (state.generated_tokens, state.is_sequence_finished) == (1, True)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_limit_of_the_request_says_why_it_ended(scripted: Any, byte_tokenizer: Any, backend: str) -> None:
    generator = make(scripted({PROMPT: "abcdefghij"}).model, byte_tokenizer, backend, max_new_tokens=8)
    for asked, text in ((3, "abc"), (8, "abcdefgh"), (1000, "abcdefgh"), (None, "abcdefgh")):
        output = generator.process_prompt(PROMPT, SamplingParams(max_tokens=asked))
        assert (output.text, output.finish_reason) == (text, "length")
    generator = make(scripted({PROMPT: "abc"}).model, byte_tokenizer, backend, max_new_tokens=8)
    for asked in (4, 8, None):
        output = generator.process_prompt(PROMPT, {"max_tokens": asked})
        assert (output.text, output.generated_tokens, output.finish_reason) == ("abc", 4, "stop")


def test_what_a_request_leaves_open_the_config_says(scripted: Any, byte_tokenizer: Any) -> None:
    defaults = SamplingParams(max_tokens=5, stop=["d"])
    generator = make(scripted({PROMPT: "abcdefghij"}).model, byte_tokenizer, sampling_params=defaults)
    assert generator.process_prompt(PROMPT).text == "abc"
    assert generator.process_prompt(PROMPT, {"stop": "h"}).text == "abcde"
    assert generator.process_prompt(PROMPT, {"stop": "h", "max_tokens": 20}).text == "abcdefg"


def test_text_is_content(scripted: Any, byte_tokenizer: Any) -> None:
    answer = "<think>hm</think>Yes."
    model = scripted({PROMPT: answer}).model
    for format, text in (("none", "hmYes."), ("qwen3", "Yes.")):
        generator = vInference(model, byte_tokenizer, format=format)
        assert generator.process_prompt(PROMPT).text == text
        assert "".join(generator.process_prompt(PROMPT, stream=True)) == text


# Errors


@pytest.mark.parametrize("stream", [False, True])
def test_bad_arguments_raise_at_the_call(llama: Any, byte_tokenizer: Any, stream: bool) -> None:
    generator = make(llama, byte_tokenizer)
    for parameters in (3, "greedy", [("max_tokens", 3)]):
        with pytest.raises(TypeError, match="sampling_params"):
            generator.process_prompt(PROMPT, parameters, stream=stream)  # type: ignore[call-overload]
    for prompt, message in (("", "empty"), ([], "empty"), (object(), "type object"), (["a", ""], "prompt 1")):
        with pytest.raises(ArgumentError, match=message):
            generator.process_prompt(prompt, stream=stream)
    for parameters in ({"max_tokens": 0}, {"colour": "red"}, {"n": 2, "temperature": 0}):
        with pytest.raises(ArgumentError):
            generator.process_prompt(PROMPT, parameters, stream=stream)
    assert active_workers() == 0


def break_at(step: int, error: Exception, prompt: str = PROMPT) -> Any:
    def before_step(running: str, at: int) -> None:
        if (running, at) == (prompt, step):
            raise error

    return before_step


def test_an_error_of_the_model_is_raised_and_never_text(scripted: Any, byte_tokenizer: Any) -> None:
    model = scripted({PROMPT: "abcdef"})
    error = RuntimeError("[ERROR: the model broke]")
    model.before_step = break_at(3, error)
    generator = make(model.model, byte_tokenizer, streaming_chunks=1)
    with pytest.raises(RuntimeError) as raised:
        generator.process_prompt(PROMPT)
    assert raised.value is error
    got = []
    with pytest.raises(RuntimeError) as raised:
        for text in generator.process_prompt(PROMPT, stream=True):
            got.append(text)
    assert raised.value is error
    assert got == ["a", "b", "c"]


def test_one_of_several_prompts_fails_alone(scripted: Any, byte_tokenizer: Any) -> None:
    model = scripted({"first": "one", "second": "two", "third": "three"})
    model.before_step = break_at(2, RuntimeError("it broke"), "second")
    outputs = make(model.model, byte_tokenizer).process_prompt(["first", "second", "third"])
    assert [output.error for output in outputs] == [None, "RuntimeError: it broke", None]
    assert [output.text for output in outputs] == ["one", "tw", "three"]
    assert [output.finish_reason for output in outputs] == ["stop", "error", "stop"]


def test_a_model_may_write_what_looks_like_an_error(scripted: Any, byte_tokenizer: Any) -> None:
    answer = "[ERROR: 42] is what it said"
    generator = make(scripted({PROMPT: answer}).model, byte_tokenizer)
    assert generator.process_prompt(PROMPT).text == answer
    assert "".join(generator.process_prompt(PROMPT, stream=True)) == answer


# Streams


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 16, 1000])
def test_a_piece_is_what_became_certain_with_its_tokens(
    scripted: Any, byte_tokenizer: Any, chunk: int, backend: str
) -> None:
    ids = byte_tokenizer(EMOJI)["input_ids"]
    assert len(ids) < 60
    model = scripted({PROMPT: EMOJI}).model
    prefill_ends = slow_prefill(model)
    generator = make(model, byte_tokenizer, backend, streaming_chunks=chunk)
    texts, state = collect(generator.process_prompt(PROMPT, stream=True))
    expected, before = [], ""
    for end in range(chunk, len(ids) + chunk, chunk):
        certain = byte_tokenizer.decode(ids[:end]).rstrip("\ufffd")
        expected += [certain[len(before) :]] if certain != before else []
        before = certain
    assert texts == expected
    assert "".join(texts) == EMOJI
    assert type(state) is SampleState
    assert (state.generated_tokens, state.is_sequence_finished) == (len(ids) + 1, True)
    assert list(state.sequences[0]) == [*ids, byte_tokenizer.eos_token_id]
    assert state.padded_length == len(byte_tokenizer(PROMPT)["input_ids"])
    check_rate(state, len(ids), prefill_ends)


@pytest.mark.parametrize("chunk", [1, 3, 16])
def test_every_piece_but_the_last_has_so_many_tokens(scripted: Any, byte_tokenizer: Any, chunk: int) -> None:
    answer = "abcdefghijklmnopqrstuvwxyz" * 2
    generator = make(scripted({PROMPT: answer}).model, byte_tokenizer, streaming_chunks=chunk)
    texts = list(generator.process_prompt(PROMPT, stream=True))
    assert texts == [answer[at : at + chunk] for at in range(0, len(answer), chunk)]


def test_a_piece_does_not_wait_for_the_end_of_the_reasoning(scripted: Any, byte_tokenizer: Any) -> None:
    answer = "abc<think>" + "x" * 30 + "</think>def"
    generator = vInference(scripted({PROMPT: answer}).model, byte_tokenizer, format="qwen3")
    gatherer = TextGatherer(4)
    pieces = [
        (text, delta.token_span[1]) for delta in generator.stream(PROMPT) for text in gatherer.put(delta)
    ]
    # Four tokens are a piece; the fourth writes no text, so the next one emits it.
    assert pieces[0] == ("abc", 5)
    assert "".join([text for text, _ in pieces] + gatherer.end()) == "abcdef"


def test_the_model_starts_with_the_first_text(scripted: Any, byte_tokenizer: Any) -> None:
    model = scripted({"first": "abc", "second": "def"})
    texts = make(model.model, byte_tokenizer).process_prompt("first", stream=True)
    several = make(model.model, byte_tokenizer).process_prompt(["first", "second"], stream=True)
    assert active_workers() == 0
    assert model.prompts == []
    texts.close()
    assert "".join(several[1]) == "def"
    assert model.prompts == ["second"]


def test_several_streams_are_independent(scripted: Any, byte_tokenizer: Any) -> None:
    model = scripted({"first": "abcd", "second": "efgh", "third": "ijkl"})
    model.before_step = break_at(2, RuntimeError("it broke"), "third")
    streams = make(model.model, byte_tokenizer, streaming_chunks=1).process_prompt(
        ["first", "second", "third"], stream=True
    )
    assert [next(stream) for stream in reversed(streams)] == ["i", "e", "a"]
    streams[0].close()
    assert next(streams[2]) == "j"
    with pytest.raises(RuntimeError, match="it broke"):
        next(streams[2])
    assert list(streams[1]) == ["f", "g", "h"]


# Several answers


def test_several_answers_of_one_prompt(llama: Any, byte_tokenizer: Any) -> None:
    model = copy.deepcopy(llama)
    prefill_ends = slow_prefill(model)
    generator = make(model, byte_tokenizer, num_return_sequences=2, max_new_tokens=10)
    parameters = {"temperature": 1.0, "seed": 3}
    result = generator.generate(PROMPT, sampling=parameters)
    assert len(result.choices) == 2
    output = generator.process_prompt(PROMPT, parameters)
    assert (output.text, output.generated_tokens) == (result.text, result.usage.completion_tokens)
    texts, state = collect(generator.process_prompt(PROMPT, parameters, stream=True))
    assert "".join(texts) == result.text
    assert state.generated_tokens == result.usage.completion_tokens
    check_rate(state, sum(len(ids) - 1 for ids in state.sequences), prefill_ends)
    with pytest.raises(ValueError, match="greedy"):
        generator.process_prompt(PROMPT, {"temperature": 0})
    assert generator.process_prompt(PROMPT, {"temperature": 0, "n": 1}).error is None


def test_the_rate_is_that_of_all_answers_to_their_end(llama: Any, byte_tokenizer: Any) -> None:
    length = len(byte_tokenizer(PROMPT)["input_ids"])

    def force(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        time.sleep(0.01)
        scores = torch.full_like(scores, float("-inf"))
        scores[0, byte_tokenizer.eos_token_id if input_ids.shape[1] > length else 65] = 0
        scores[1, 66] = 0
        return scores

    model = copy.deepcopy(llama)
    prefill_ends = slow_prefill(model)
    stream = make(model, byte_tokenizer).stream(
        PROMPT, n=2, do_sample=True, logits_processor=[force], max_new_tokens=11
    )
    list(stream)
    state = SampleState.of(stream)
    assert [len(ids) for ids in state.sequences] == [2, 11]
    assert state.time_spent_s >= 0.1
    check_rate(state, 1 + 10, prefill_ends)


def test_the_number_of_answers_by_the_length_of_the_prompt(llama: Any, byte_tokenizer: Any) -> None:
    generator = make(llama, byte_tokenizer, num_return_sequences={4: 3, 64: 1}, max_new_tokens=5)
    parameters = {"temperature": 1.0, "seed": 3}
    for prompt, count in (("abcd", 3), ("abcde", 1), ("x" * 100, 1)):
        _, state = collect(generator.process_prompt(prompt, parameters, stream=True))
        assert len(state.sequences) == count
    assert generator.process_prompt("abcde", {"temperature": 0}).finish_reason == "length"
    with pytest.raises(ValueError, match="greedy"):
        generator.process_prompt("abcd", {"temperature": 0})
    _, state = collect(generator.process_prompt("abcd", {"temperature": 0, "n": 1}, stream=True))
    assert len(state.sequences) == 1
