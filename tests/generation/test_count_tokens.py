"""count_tokens: the number that usage has; and what an engine is called."""

from __future__ import annotations

import copy
import datetime
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tokenizers.processors import TemplateProcessing
from unspool import ArgumentError, InferenceConfig, StreamGenerator

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Héllo 🙂"}]


@pytest.fixture(scope="module")
def tokenizer(byte_tokenizer: Any) -> Any:
    """With a chat template, and a token that begins every text."""
    tokenizer = copy.deepcopy(byte_tokenizer)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<bos> $A", special_tokens=[("<bos>", tokenizer.bos_token_id)]
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


@pytest.fixture(scope="module", params=["transformers", "native"])
def generator(llama: Any, tokenizer: Any, request: pytest.FixtureRequest) -> StreamGenerator:
    return StreamGenerator(llama, tokenizer, backend=request.param, format="qwen3")


@pytest.mark.parametrize(
    "prompt",
    [
        "a",
        "Tell me a story. 🙂",
        "<|im_start|>x",
        "x" * 700,
        [5, 6, 7],
        MESSAGES,
        MESSAGES[1],
        {"text": "abc"},
    ],
)
def test_the_count_is_that_of_the_usage(generator: Any, prompt: Any) -> None:
    count = generator.count_tokens(prompt)
    assert count == generator.generate(prompt, max_new_tokens=1).usage.prompt_tokens


def test_a_text_counts_with_what_the_tokenizer_adds(generator: Any, tokenizer: Any) -> None:
    assert generator.count_tokens("abc") == len(tokenizer("abc")["input_ids"]) == 4


def test_messages_count_as_the_chat_template_writes_them(generator: Any, tokenizer: Any) -> None:
    text = tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert generator.count_tokens(MESSAGES) == len(ids)
    assert generator.count_tokens(MESSAGES, oai_like=True) == len(ids)


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


def test_embeddings_images_and_sources(
    llama: Any, llava: Any, t5: Any, byte_tokenizer: Any, image_processor: Any
) -> None:
    embeds = {"inputs_embeds": torch.zeros((1, 7, 32))}
    assert StreamGenerator(llama, byte_tokenizer).count_tokens(embeds) == 7
    generator = StreamGenerator(llava, processor=image_processor)
    image = {"type": "image", "image": torch.zeros((3, 16, 16))}
    chat = [{"role": "user", "content": [image, {"type": "text", "text": "what"}]}]
    assert generator.count_tokens(chat) == generator.generate(chat, max_new_tokens=1).usage.prompt_tokens == 8
    generator = StreamGenerator(t5, byte_tokenizer)
    assert generator.count_tokens("abc") == generator.generate("abc", max_new_tokens=1).usage.prompt_tokens


@pytest.mark.parametrize("prompt", ["", [], None, object(), [[1], [2]]])
def test_what_is_no_prompt_is_not_counted(generator: Any, prompt: Any) -> None:
    with pytest.raises(ArgumentError):
        generator.count_tokens(prompt)


# The length that is left for a prompt


def test_model_prefill_length(llama: Any, byte_tokenizer: Any) -> None:
    for count in (1, 64, 1023):
        generator = StreamGenerator(llama, byte_tokenizer, config=InferenceConfig(max_new_tokens=count))
        assert generator.model_prefill_length == 1024 - count
    generator = StreamGenerator(llama, byte_tokenizer, config=InferenceConfig(max_new_tokens=1024))
    with pytest.raises(ValueError, match="max_new_tokens is 1024"):
        _ = generator.model_prefill_length
    with pytest.raises(ValueError, match="max_position_embeddings, n_positions"):
        _ = StreamGenerator(SimpleNamespace(generate=None), byte_tokenizer).model_prefill_length


# The name


def test_the_name_has_type_size_and_day(llama: Any, byte_tokenizer: Any) -> None:
    days = [datetime.date.today().isoformat()]
    name = StreamGenerator(llama, byte_tokenizer).inference_name
    days.append(datetime.date.today().isoformat())
    assert name in [f"llama-0.00B-{day}" for day in days]

    class Large:
        config = SimpleNamespace(model_type="gemma3")
        generate = None

        def parameters(self) -> Any:
            return [torch.empty((1_234_567, 1000), device="meta"), torch.empty((10**9,), device="meta")]

    assert StreamGenerator(Large(), byte_tokenizer).inference_name.startswith("gemma3-2.23B-20")
    nameless = StreamGenerator(SimpleNamespace(generate=None), byte_tokenizer)
    assert nameless.inference_name.startswith("simplenamespace-0.00B-20")


def test_the_name_may_be_given(llama: Any, byte_tokenizer: Any) -> None:
    assert StreamGenerator(llama, byte_tokenizer, name="mine").inference_name == "mine"
    with pytest.raises(ArgumentError, match="name is empty"):
        StreamGenerator(llama, byte_tokenizer, name="")
    with pytest.raises(TypeError, match="pass a str"):
        StreamGenerator(llama, byte_tokenizer, name=3)  # type: ignore[arg-type]
