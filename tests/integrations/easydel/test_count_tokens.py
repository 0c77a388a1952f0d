"""count_tokens with OpenAI's parts; and the name of an engine."""

from __future__ import annotations

import copy
import datetime
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from unspool import ArgumentError
from unspool.integrations.easydel import InferenceConfig, vInference

from ...tiny_models import TEMPLATE

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Héllo 🙂"}]


@pytest.fixture(scope="module")
def generator(llama: Any, byte_tokenizer: Any) -> vInference:
    tokenizer = copy.deepcopy(byte_tokenizer)
    tokenizer.chat_template = TEMPLATE
    return vInference(llama, tokenizer, format="qwen3")


def test_messages_without_parts_count_the_same(generator: vInference) -> None:
    assert generator.count_tokens(MESSAGES, oai_like=True) == generator.count_tokens(MESSAGES)


def test_parts_are_joined_on_demand(generator: Any) -> None:
    parts = [
        {"role": "system", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]},
        MESSAGES[1],
    ]
    before = copy.deepcopy(parts)
    assert generator.count_tokens(parts, oai_like=True) == generator.count_tokens(MESSAGES)
    assert generator.count_tokens([{"role": "user", "content": []}], oai_like=True) == generator.count_tokens(
        [{"role": "user", "content": ""}]
    )
    assert parts == before
    for part in ({"type": "image_url", "image_url": {"url": "data:"}}, {"type": "text"}, "text"):
        with pytest.raises(ArgumentError, match="a content part is of type"):
            generator.count_tokens([{"role": "user", "content": [part]}], oai_like=True)


def test_every_form_of_a_prompt_is_joined(generator: vInference) -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    plain = {"role": "user", "content": "ab"}
    for prompt, expected in (
        (parts, plain),
        ({"messages": [parts]}, [plain]),
        ([1, 2], [1, 2]),
        ("ab", "ab"),
    ):
        assert generator.count_tokens(prompt, oai_like=True) == generator.count_tokens(expected)


# The name


def test_the_name_has_type_size_and_day(llama: Any, byte_tokenizer: Any) -> None:
    days = [datetime.date.today().isoformat()]
    name = vInference(llama, byte_tokenizer).inference_name
    days.append(datetime.date.today().isoformat())
    assert name in [f"llama-0.00B-{day}" for day in days]

    class Large:
        config = SimpleNamespace(model_type="gemma3")
        generate = None

        def parameters(self) -> Any:
            return [torch.empty((1_234_567, 1000), device="meta"), torch.empty((10**9,), device="meta")]

    assert vInference(Large(), byte_tokenizer).inference_name.startswith("gemma3-2.23B-20")
    nameless = vInference(SimpleNamespace(generate=None), byte_tokenizer)
    assert nameless.inference_name.startswith("simplenamespace-0.00B-20")


def test_the_name_may_be_given(llama: Any, byte_tokenizer: Any) -> None:
    assert vInference(llama, byte_tokenizer, name="mine").inference_name == "mine"
    with pytest.raises(ArgumentError, match="name is empty"):
        vInference(llama, byte_tokenizer, name="")
    with pytest.raises(TypeError, match="pass a str"):
        vInference(llama, byte_tokenizer, name=3)  # type: ignore[arg-type]


# The length that is left for a prompt


def test_model_prefill_length(llama: Any, byte_tokenizer: Any) -> None:
    for count in (1, 64, 1023):
        generator = vInference(llama, byte_tokenizer, config=InferenceConfig(max_new_tokens=count))
        assert generator.model_prefill_length == 1024 - count
    generator = vInference(llama, byte_tokenizer, config=InferenceConfig(max_new_tokens=1024))
    with pytest.raises(ValueError, match="max_new_tokens is 1024"):
        _ = generator.model_prefill_length
    with pytest.raises(ValueError, match="max_position_embeddings, n_positions"):
        _ = vInference(SimpleNamespace(generate=None), byte_tokenizer).model_prefill_length
