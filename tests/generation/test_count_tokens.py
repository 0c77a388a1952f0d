"""count_tokens: the number that usage has; and the length that is left for a prompt."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from tokenizers.processors import TemplateProcessing
from unspool import ArgumentError, StreamGenerator

from .helpers import BACKENDS

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


@pytest.fixture(scope="module", params=BACKENDS)
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
