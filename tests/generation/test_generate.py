"""unspool.generate over a tiny random Llama, its logits forced to write a given answer."""

from __future__ import annotations

import gc
import json
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import unspool
from transformers import LlamaConfig, LlamaForCausalLM, LogitsProcessor, PreTrainedTokenizerFast
from unspool import ArgumentError, generate

from ..outputs import TOOLS

ANSWER = '<think>\nWeather.\n</think>\n\nI look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich 👩‍👩‍👧"}}\n</tool_call>'


class Forced(LogitsProcessor):
    """Makes the model write these ids, then its end; counts the steps."""

    def __init__(self, ids: list[int], prompt: int, pause: float = 0.0, fail_at: int | None = None) -> None:
        self.ids, self.prompt, self.pause, self.fail_at = ids, prompt, pause, fail_at
        self.steps = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        step = input_ids.shape[1] - self.prompt
        self.steps += 1
        if self.fail_at == step:
            raise RuntimeError("the model broke")
        time.sleep(self.pause)
        forced = torch.full_like(scores, float("-inf"))
        forced[:, self.ids[step] if step < len(self.ids) else self.ids[-1]] = 0
        return forced


@pytest.fixture(scope="module")
def tokenizer(deepseek: Any) -> Any:
    wrapped = PreTrainedTokenizerFast(tokenizer_object=deepseek.tokenizer, eos_token="<｜end▁of▁sentence｜>")
    wrapped.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        '<|im_start|>assistant\n{% if call %}<think><tool_call>{"arguments": {{ call }}}{% endif %}'
    )
    return wrapped


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=512,
        eos_token_id=tokenizer.eos_token_id, bos_token_id=0, pad_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def forced(tokenizer: Any, prompt: list[int], answer: str = ANSWER, **options: Any) -> Forced:
    ids = tokenizer(answer, add_special_tokens=False)["input_ids"]
    return Forced([*ids, tokenizer.eos_token_id], len(prompt), **options)


PROMPT = [10, 11, 12]


def run(model: Any, tokenizer: Any, processor: Forced, **options: Any) -> Any:
    options.setdefault("format", "qwen3")
    return generate(
        model, tokenizer, PROMPT, tools=TOOLS, logits_processor=[processor],
        max_new_tokens=options.pop("max_new_tokens", 200), do_sample=False, **options,
    )  # fmt: skip


def test_a_real_generate_streams_a_real_tool_call(model: Any, tokenizer: Any) -> None:
    generation = run(model, tokenizer, forced(tokenizer, PROMPT))
    deltas = list(generation)
    message = generation.message
    assert message.reasoning == "Weather."
    assert message.content == "I look."
    assert [(c.name, c.arguments, c.status) for c in message.tool_calls] == [
        ("get_weather", '{"city": "Zürich 👩‍👩‍👧"}', "complete")
    ]
    assert deltas[-1].finish_reason == "tool_calls"
    assert sum(delta.kind == "tool_call_arguments" for delta in deltas) > 3
    assert not torch.is_inference_mode_enabled()


def test_an_unforced_model_streams_what_it_generates(model: Any, tokenizer: Any) -> None:
    ids = torch.tensor([PROMPT])
    with torch.inference_mode():
        whole = model.generate(ids, max_new_tokens=24, do_sample=False, attention_mask=torch.ones_like(ids))
    expected = tokenizer.decode(whole[0, len(PROMPT) :], skip_special_tokens=True)
    generation = generate(
        model, tokenizer, PROMPT, format="hermes", tools=[], max_new_tokens=24, do_sample=False
    )
    assert "".join(delta.text for delta in generation) == expected
    assert generation.message.finish_reason == "length"


def test_messages_and_the_detected_format(model: Any, tokenizer: Any) -> None:
    messages = [{"role": "user", "content": "Weather?"}]
    prompt = tokenizer(tokenizer.apply_chat_template(messages, tokenize=False), add_special_tokens=False)[
        "input_ids"
    ]
    generation = generate(
        model, tokenizer, messages, tools=TOOLS, logits_processor=[forced(tokenizer, prompt)],
        max_new_tokens=200, do_sample=False,
    )  # fmt: skip
    list(generation)
    assert generation.message.tool_calls[0].name == "get_weather"
    assert generation.message.reasoning == "Weather."


def test_an_answer_of_ours_goes_back_as_the_template_reads_it(model: Any, tokenizer: Any) -> None:
    stream = run(model, tokenizer, forced(tokenizer, PROMPT))
    assert list(stream)
    history = [{"role": "user", "content": "Weather?"}, stream.message.to_openai()]
    for arguments in ("c.function.arguments | tojson", "c.function.arguments | items | list | tojson"):
        other = PreTrainedTokenizerFast(
            tokenizer_object=tokenizer.backend_tokenizer, eos_token=tokenizer.eos_token
        )
        other.chat_template = (
            "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}"
            f"{{{{ {arguments} }}}}{{% endfor %}}{{% endfor %}}"
        )
        text = other.decode(unspool.StreamGenerator(model, other).tokenize(history, tools=TOOLS))
        written = json.loads(text.partition("I look.")[2])
        assert (dict(written) if isinstance(written, list) else written) == {"city": "Zürich 👩‍👩‍👧"}


def test_tools_are_never_left_out(model: Any, tokenizer: Any) -> None:
    plain = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer, eos_token=tokenizer.eos_token
    )
    messages = [{"role": "user", "content": "Weather?"}]
    with pytest.raises(ArgumentError, match="has no chat template"):
        generate(model, plain, messages, tools=TOOLS, format="hermes")
    assert (
        list(generate(model, plain, messages, format="hermes", max_new_tokens=2))[-1].finish_reason
        == "length"
    )


def test_length(model: Any, tokenizer: Any) -> None:
    generation = run(model, tokenizer, forced(tokenizer, PROMPT), max_new_tokens=25)
    deltas = list(generation)
    assert deltas[-1].finish_reason == "length"


def test_the_models_exception_arrives_as_itself_after_what_came_before(model: Any, tokenizer: Any) -> None:
    generation = run(model, tokenizer, forced(tokenizer, PROMPT, fail_at=8))
    got = []
    with pytest.raises(RuntimeError, match="the model broke"):
        got.extend(iter(generation.__next__, None))
    generation = run(model, tokenizer, forced(tokenizer, PROMPT, fail_at=8))
    with pytest.raises(RuntimeError, match="the model broke"):
        for delta in generation:
            got.append(delta)
    assert got


@pytest.mark.parametrize("how", ["close", "drop", "break"])
def test_leaving_early_stops_the_model_within_two_steps(model: Any, tokenizer: Any, how: str) -> None:
    processor = forced(tokenizer, PROMPT, pause=0.2)  # 10 s in all
    generation = run(model, tokenizer, processor)
    next(generation)
    begin = time.monotonic()
    steps = processor.steps
    if how == "close":
        generation.close()
    elif how == "drop":
        del generation
        gc.collect()
    else:
        with generation:
            for _ in generation:
                break
        steps = processor.steps
    assert time.monotonic() - begin < 3
    for thread in threading.enumerate():
        if thread.name == "unspool-generate":
            thread.join(5)
    assert processor.steps - steps <= 2


def test_timeout(model: Any, tokenizer: Any) -> None:
    processor = forced(tokenizer, PROMPT, pause=3)
    generation = run(model, tokenizer, processor, timeout=0.1)
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match="gave nothing"):
        list(generation)
    assert time.monotonic() - begin < 2.5  # it did not wait for the model
    for thread in threading.enumerate():
        if thread.name == "unspool-generate":
            thread.join(5)


def test_async(model: Any, tokenizer: Any) -> None:
    import asyncio

    async def consume() -> list[unspool.Delta]:
        return [delta async for delta in run(model, tokenizer, forced(tokenizer, PROMPT))]

    assert asyncio.run(consume())[-1].finish_reason == "tool_calls"


def test_a_streamer_of_ones_own_loop(model: Any, tokenizer: Any) -> None:
    """TokenStreamer as `streamer=`, as transformers' own streamers are used."""
    streamer = unspool.TokenStreamer(tokenizer, "qwen3", TOOLS)
    processor = forced(tokenizer, PROMPT)
    ids = torch.tensor([PROMPT])
    model.generate(
        ids, attention_mask=torch.ones_like(ids), streamer=streamer, logits_processor=[processor],
        max_new_tokens=200, do_sample=False,
    )  # fmt: skip
    assert streamer.is_finished
    assert streamer.message.tool_calls[0].arguments == '{"city": "Zürich 👩‍👩‍👧"}'


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_beams": 2}, "num_beams is above 1"),
        ({"num_return_sequences": 2, "do_sample": False}, "greedy"),
        ({"streamer": object()}, "iterate the stream that the call returns"),
    ],
)
def test_bad_options_raise_at_the_call(model: Any, tokenizer: Any, options: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        generate(model, tokenizer, PROMPT, format="hermes", **options)
    assert not any(thread.name == "unspool-generate" for thread in threading.enumerate())


def test_bad_prompts_raise_at_the_call(model: Any, tokenizer: Any) -> None:
    with pytest.raises(ArgumentError, match="one row"):
        generate(model, tokenizer, torch.zeros(2, 3, dtype=torch.long), format="hermes")
    with pytest.raises(ArgumentError, match="empty"):
        generate(model, tokenizer, [], format="hermes")


def test_a_format_that_cannot_be_detected_raises(model: Any) -> None:
    plain = SimpleNamespace(chat_template="{{ messages[0].content }}{# <tool_call> #}")
    with pytest.raises(ArgumentError, match="pass format="):
        generate(model, plain, [1, 2, 3])


def test_a_call_format_without_reasoning_takes_that_of_the_template(model: Any, tokenizer: Any) -> None:
    answer = 'Weather.\n</think>\n\n<function=get_weather>{"city": "Paris"}</function>'
    coder = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer, eos_token=tokenizer.eos_token
    )
    coder.chat_template = "{{ '<function=' + f + '>' + a + '</function>' }}<think>\n"
    generation = run(model, coder, forced(coder, PROMPT, answer), format="auto")
    list(generation)
    assert generation.message.reasoning == "Weather."
    assert [call.arguments for call in generation.message.tool_calls] == ['{"city": "Paris"}']
