"""The five lanes, end to end: each gives the ids of one-shot greedy, whatever the chunk."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from unspool import ArgumentError, ConditioningHook, StreamGenerator
from unspool.generation.prefill.cache_name import pop_cache
from unspool.generation.prefill.forward import ForwardCaller

TEXT = "The quick brown fox jumps over the lazy dog; Zürich 👩‍👩‍👧 naïve."
BACKENDS = {"native": "optimized-native", "transformers": "transformers-generic"}


def chunks(length: int) -> list[int]:
    return [1, 2, 3, 8, length - 1, length, length + 1]


def check(result: Any, lane: str, expected: list[int], is_long: bool) -> None:
    assert list(result.token_ids) == expected
    assert result.metadata["chunked_prefill_strategy_id"] == lane
    assert result.metadata["chunked_prefill_runtime_eligible"] == "true"
    assert result.metadata["chunked_prefill_applied"] == ("true" if is_long else "false")
    assert result.metadata["chunked_prefill_execution_boundary"] == "streamed-prompt-preparation"
    assert result.metadata["chunked_prefill_attention_mask_mode"] == "lazy-prefix-synthesis"
    assert ("does not exceed" in result.metadata["chunked_prefill_activation_reason"]) != is_long
    assert result.prefill.metadata().items() <= result.metadata.items()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["text", "ids", "messages"])
def test_text_lanes(llama: Any, byte_tokenizer: Any, one_shot: Any, backend: str, kind: str) -> None:
    ids = byte_tokenizer(TEXT, return_tensors="pt")["input_ids"]
    prompt: Any = {"text": TEXT, "ids": ids, "messages": [{"role": "user", "content": TEXT}]}[kind]
    if kind == "messages":
        written = f"USER: {TEXT}\nASSISTANT:"  # no template
        ids = byte_tokenizer(written, return_tensors="pt")["input_ids"]
    expected = one_shot(llama, input_ids=ids, attention_mask=torch.ones_like(ids))
    assert len(set(expected)) > 5
    for chunk in chunks(ids.shape[1]):
        generator = StreamGenerator(llama, byte_tokenizer, backend=backend, prefill=chunk)
        result = generator.generate(prompt, max_new_tokens=20, do_sample=False)
        check(result, f"{BACKENDS[backend]}-text", expected, chunk < ids.shape[1])
        assert result.usage.prompt_tokens == ids.shape[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_multimodal_lanes(
    llava: Any, byte_tokenizer: Any, image_processor: Any, one_shot: Any, backend: str
) -> None:
    torch.manual_seed(1)
    images = [torch.randn(3, 16, 16) for _ in range(2)]
    content = [
        {"type": "text", "text": "Look at this: "},
        {"type": "image", "image": images[0]},
        {"type": "text", "text": " and at that: "},
        {"type": "image", "image": images[1]},
        {"type": "text", "text": " What is it?"},
    ]
    messages = [{"role": "user", "content": content}]
    text = image_processor.apply_chat_template(messages)
    inputs = image_processor(images=images, text=[text])
    expected = one_shot(llava, **inputs)
    blank = {**inputs, "pixel_values": torch.zeros_like(inputs["pixel_values"])}
    assert one_shot(llava, **blank) != expected  # the images matter
    length = inputs["input_ids"].shape[1]
    for chunk in chunks(length):
        generator = StreamGenerator(
            llava, byte_tokenizer, image_processor, backend=backend, prefill=chunk, format="none"
        )
        result = generator.generate(messages, max_new_tokens=20, do_sample=False)
        check(result, f"{BACKENDS[backend]}-multimodal", expected, chunk < length)


def test_seq2seq_lane(t5: Any, byte_tokenizer: Any, one_shot: Any) -> None:
    ids = byte_tokenizer(TEXT, return_tensors="pt")["input_ids"]
    expected = one_shot(t5, input_ids=ids, attention_mask=torch.ones_like(ids))
    encoder_calls = []
    handle = t5.encoder.register_forward_hook(lambda *_: encoder_calls.append(1))
    for chunk in chunks(ids.shape[1]):
        encoder_calls.clear()
        generator = StreamGenerator(t5, byte_tokenizer, prefill=chunk)
        result = generator.generate(TEXT, max_new_tokens=20, do_sample=False)
        check(result, "transformers-generic-seq2seq-source", expected, chunk < ids.shape[1])
        assert len(encoder_calls) == 1
        assert result.metrics.output_tokens == len(expected)
    handle.remove()


@pytest.mark.parametrize("backend", BACKENDS)
def test_sampled_with_penalties_equals_one_shot(llama: Any, byte_tokenizer: Any, backend: str) -> None:
    """Penalties look at the whole prompt, which a lane must not hide from them."""
    ids = byte_tokenizer(TEXT, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        output = llama.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=20, do_sample=False,
            repetition_penalty=1.7, no_repeat_ngram_size=2,
        )  # fmt: skip
    generator = StreamGenerator(llama, byte_tokenizer, backend=backend, prefill=8)
    result = generator.generate(
        TEXT, max_new_tokens=20, do_sample=False, repetition_penalty=1.7, no_repeat_ngram_size=2
    )
    assert list(result.token_ids) == output[0, ids.shape[1] :].tolist()


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_first_forward_runs_before_the_last_piece_is_tokenized(
    byte_tokenizer: Any, llama: Any, backend: str
) -> None:
    text = "many words of a long prompt " * 40
    order: list[str] = []

    class Spy:
        """The tokenizer, which records when it is called."""

        def __init__(self) -> None:
            self.__dict__.update(tokenizer=byte_tokenizer)

        def __getattr__(self, name: str) -> Any:
            return getattr(byte_tokenizer, name)

        def __call__(self, *values: Any, **options: Any) -> Any:
            order.append("tokenize")
            return byte_tokenizer(*values, **options)

    handle = llama.register_forward_pre_hook(lambda *_: order.append("forward"))
    generator = StreamGenerator(llama, byte_tokenizer, backend=backend, prefill=16)
    generator._encoder._tokenizer = Spy()
    generator.generate(text, max_new_tokens=2, do_sample=False)
    handle.remove()
    last = len(order) - 1 - order[::-1].index("tokenize")
    assert order.index("forward") < last
    assert order[:last].count("forward") > 5


def test_native_forward_lengths(byte_tokenizer: Any, llama: Any) -> None:
    lengths: list[tuple[int, int]] = []
    handle = llama.register_forward_pre_hook(
        lambda _, __, kwargs: lengths.append(
            (kwargs["input_ids"].shape[1], kwargs["attention_mask"].shape[1])
        ),
        with_kwargs=True,
    )
    generator = StreamGenerator(llama, byte_tokenizer, backend="native", prefill=8)
    result = generator.generate(list(range(36)), max_new_tokens=4, do_sample=False)
    handle.remove()
    assert lengths == [(8, 8), (8, 16), (8, 24), (8, 32), (4, 36), (1, 37), (1, 38), (1, 39)]
    assert result.metrics.decode_prefix_tokens == 4


def test_off_runs_in_one_go(llama: Any, byte_tokenizer: Any, one_shot: Any) -> None:
    ids = byte_tokenizer(TEXT, return_tensors="pt")["input_ids"]
    expected = one_shot(llama, input_ids=ids)
    for backend in BACKENDS:
        generator = StreamGenerator(llama, byte_tokenizer, backend=backend, prefill=False)
        result = generator.generate(TEXT, max_new_tokens=20, do_sample=False)
        assert list(result.token_ids) == expected
        assert result.metadata["chunked_prefill_strategy_id"] == ""
        assert result.metadata["chunked_prefill_applied"] == "false"


def test_an_empty_prompt_is_an_error(llama: Any, byte_tokenizer: Any) -> None:
    from unspool import ArgumentError

    generator = StreamGenerator(llama, byte_tokenizer)
    for prompt in ("", [], torch.zeros((1, 0), dtype=torch.long)):
        with pytest.raises(ArgumentError, match="empty"):
            generator.stream(prompt)


def cache_of(llama: Any, ids: Any) -> Any:
    from transformers import DynamicCache

    cache = DynamicCache()
    with torch.inference_mode():
        ForwardCaller(llama)(input_ids=ids, cache=cache, use_cache=True)
    return cache


@pytest.mark.parametrize("name", ["cache", "past_key_values"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cache_of_the_prompts_beginning_is_gone_on_from(
    llama: Any, byte_tokenizer: Any, one_shot: Any, backend: str, name: str
) -> None:
    """Under both names, with every transformers: as an option, and among the model inputs of a prompt."""
    ids = byte_tokenizer(TEXT, return_tensors="pt")["input_ids"]
    expected = one_shot(llama, input_ids=ids)
    generator = StreamGenerator(llama, byte_tokenizer, backend=backend, prefill=8)
    options = {"max_new_tokens": 20, "do_sample": False}
    for result in (
        generator.generate(ids, **{name: cache_of(llama, ids[:, :20])}, **options),
        generator.generate({"input_ids": ids, name: cache_of(llama, ids[:, :20])}, **options),
    ):
        assert list(result.token_ids) == expected
        assert result.prefill.applied


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cache_of_a_hook(llama: Any, byte_tokenizer: Any, one_shot: Any, backend: str) -> None:
    class Cached(ConditioningHook):
        name = "cache"

        def setup(self, inputs: Any) -> Any:
            return {**inputs, self.name: cache_of(llama, inputs["input_ids"][:, :20])}

        def cleanup(self) -> None:
            pass

    expected = one_shot(llama, input_ids=byte_tokenizer(TEXT, return_tensors="pt")["input_ids"])
    hook = Cached()
    generator = StreamGenerator(llama, byte_tokenizer, backend=backend, hook=hook)
    for hook.name in ("cache", "past_key_values"):
        result = generator.generate(TEXT, max_new_tokens=20, do_sample=False)
        assert list(result.token_ids) == expected
        assert result.metrics.decode_prefix_tokens == result.usage.prompt_tokens - 20


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cache_goes_to_generate_with_embeddings(
    llama: Any, byte_tokenizer: Any, one_shot: Any, backend: str
) -> None:
    ids = byte_tokenizer(TEXT, return_tensors="pt")["input_ids"]
    embeds = llama.get_input_embeddings()(ids)
    generator = StreamGenerator(llama, byte_tokenizer, backend=backend)
    seen: list[Any] = []
    plain = llama.generate
    llama.generate = lambda **given: seen.append(pop_cache(given)) or plain(**given)
    try:
        cache = cache_of(llama, ids[:, :20])
        result = generator.generate(inputs_embeds=embeds, cache=cache, max_new_tokens=5, do_sample=False)
    finally:
        del llama.generate
    assert seen == [cache]
    assert list(result.token_ids) == one_shot(llama, 5, input_ids=ids)


def test_two_caches_are_refused(llama: Any, byte_tokenizer: Any) -> None:
    cache = cache_of(llama, torch.tensor([[1, 2]]))
    generator = StreamGenerator(llama, byte_tokenizer)
    with pytest.raises(ArgumentError, match="two names of one argument"):
        generator.stream("text", cache=cache, past_key_values=cache)
    with pytest.raises(ArgumentError, match="the prompt and the call both have a cache"):
        generator.generate({"input_ids": [[1, 2, 3]], "cache": cache}, past_key_values=cache)


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_name_of_a_cache_is_deprecated(
    llama: Any, byte_tokenizer: Any, caplog: pytest.LogCaptureFixture, backend: str
) -> None:
    """transformers 5.24 logs the old name once a process; warnings are errors here."""
    from transformers.utils import logging as transformers_logging

    transformers_logging.warning_once.cache_clear()
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)
    try:
        generator = StreamGenerator(llama, byte_tokenizer, backend=backend, prefill=8)
        ids = byte_tokenizer(TEXT, return_tensors="pt")["input_ids"]
        generator.generate(
            ids, past_key_values=cache_of(llama, ids[:, :20]), max_new_tokens=3, do_sample=False
        )
    finally:
        logger.removeHandler(caplog.handler)
    assert "deprecated" not in caplog.text


def test_metadata_of_a_backend_survives(llama: Any, byte_tokenizer: Any) -> None:
    class Engine:
        """Executes the prompt itself, and says so."""

        config, generation_config, device = llama.config, llama.generation_config, llama.device

        def generate(self, input_ids: Any, streamer: Any, **_: Any) -> Any:
            streamer.put(input_ids)
            streamer.put(torch.tensor([65]))
            streamer.end()

            return SimpleNamespace(
                sequences=torch.cat([input_ids, torch.tensor([[65]])], dim=1),
                metadata={"chunked_prefill_applied": "true", "engine": "mine"},
            )

    result = StreamGenerator(Engine(), byte_tokenizer).generate("Hi", max_new_tokens=3)
    assert result.metadata["chunked_prefill_applied"] == "true"
    assert result.metadata["engine"] == "mine"
    assert "forward is missing" in result.metadata["chunked_prefill_activation_reason"]
