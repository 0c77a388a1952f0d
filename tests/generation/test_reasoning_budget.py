"""A budget of reasoning: the family's own closer comes at the latest after so many tokens, and the answer goes on."""

from __future__ import annotations

from typing import Any

import pytest
import unspool
from unspool import ArgumentError, StreamGenerator

from .helpers import BACKENDS

PROMPT = "What is the weather?"
TOOLS = [{"name": "now", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}]
REASONING = [
    file.name
    for file in unspool.formats()
    if file.has_reasoning and not all(part.close.is_blank for part in file.shape.reasoning)
]


def make(llama: Any, tokenizer: Any, format: str, backend: Any = "native") -> StreamGenerator:
    return StreamGenerator(llama, tokenizer, format=format, backend=backend, start_in="reasoning")


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("format", REASONING)
def test_every_family_goes_on_with_its_answer(llama: Any, byte_tokenizer: Any, format: str) -> None:
    generator = make(llama, byte_tokenizer, format)
    options = {"max_new_tokens": 70, "eos_token_id": None, "sampling": {"temperature": 1.5, "seed": 3}}
    free = generator.generate(PROMPT, **options).choices[0].message
    message = generator.generate(PROMPT, **options, max_reasoning_tokens=5).choices[0].message
    assert free.reasoning, "this model thinks without end"
    assert free.reasoning.startswith(message.reasoning[:3])
    assert (
        0 < message.token_counts.reasoning < 5 + 40 < free.token_counts.reasoning
    )  # a closer is up to 40 letters
    assert not message.malformed


def test_reasoning_that_only_a_call_ends(llama: Any, byte_tokenizer: Any) -> None:
    generator = make(llama, byte_tokenizer, "ui_tars")
    with pytest.raises(ArgumentError, match="only a call ends the reasoning of 'ui_tars'"):
        generator.generate(PROMPT, max_new_tokens=3, max_reasoning_tokens=5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("budget", [0, 1, 7])
def test_no_more_tokens_than_asked_for(llama: Any, byte_tokenizer: Any, backend: str, budget: int) -> None:
    generator = make(llama, byte_tokenizer, "qwen3", backend)
    sampling = {"temperature": 1.5, "seed": 3, "n": 3, "max_reasoning_tokens": budget}
    result = generator.generate(PROMPT, max_new_tokens=60, sampling=sampling, flush_tokens=8)
    closer = byte_tokenizer.encode("\n</think>\n\n", add_special_tokens=False)
    for choice in result.choices:
        ids = list(choice.token_ids)
        begin = next(i for i in range(len(ids)) if ids[i : i + len(closer)] == closer)
        assert begin <= budget
        assert choice.message.reasoning == byte_tokenizer.decode(ids[:begin], skip_special_tokens=True).strip(
            "\n"
        )
        assert choice.message.content


def test_reasoning_that_ends_by_itself_is_left_alone(llama: Any, byte_tokenizer: Any) -> None:
    options = {"max_new_tokens": 40, "sampling": {"temperature": 1.5, "seed": 4}}
    generator = StreamGenerator(llama, byte_tokenizer, format="qwen3", backend="native")
    ended = PROMPT + "<|im_start|>assistant\n<think>\nso</think>\n\n"
    free = generator.generate(ended, **options).choices[0]
    assert generator.generate(ended, **options, max_reasoning_tokens=0).choices[0].token_ids == free.token_ids


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_required_call_comes_after_the_budget(llama: Any, byte_tokenizer: Any, backend: Any) -> None:
    pytest.importorskip("llguidance", reason="needs unspool[constrain]")
    for format in ("qwen3", "deepseek_v31", "openai", "granite", "glm45", "seed_oss"):
        generator = make(llama, byte_tokenizer, format, backend)
        message = generator.generate(
            PROMPT, tools=TOOLS, tool_choice="required", max_new_tokens=400, max_reasoning_tokens=6,
            sampling={"temperature": 1.5, "seed": 1},
        ).choices[0].message  # fmt: skip
        assert [call.name for call in message.tool_calls] == ["now"] * len(message.tool_calls)
        assert message.tool_calls, format


def test_what_has_no_closer(llama: Any, byte_tokenizer: Any) -> None:
    options = {"max_new_tokens": 5, "max_reasoning_tokens": 1}
    assert StreamGenerator(llama, byte_tokenizer, format="llama3_json").generate(PROMPT, **options)
    assert StreamGenerator(llama, byte_tokenizer, format="qwen3").generate(PROMPT, raw=True, **options)
    with pytest.raises(ArgumentError, match="max_reasoning_tokens is -1; pass 0 or more"):
        StreamGenerator(llama, byte_tokenizer).generate(PROMPT, max_reasoning_tokens=-1)
    with pytest.raises(ArgumentError, match="leave it out with max_reasoning_tokens"):
        StreamGenerator(llama, byte_tokenizer, format="qwen3").generate(
            PROMPT, **options, prompt_lookup_num_tokens=3
        )
