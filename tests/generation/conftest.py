"""Fixtures of tiny random models, with what they need beside them."""

from __future__ import annotations

import copy
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from ..tiny_models import NAMES, make_byte_tokenizer, make_llama


@pytest.fixture(scope="session")
def byte_tokenizer() -> Any:
    names = ["<eos>", "<bos>", "<image>", *NAMES[1:]]
    return make_byte_tokenizer(names, bos_token="<bos>", model_input_names=["input_ids", "attention_mask"])


@pytest.fixture(scope="session")
def llama(byte_tokenizer: Any) -> Any:
    return make_llama(byte_tokenizer)


@pytest.fixture(scope="session")
def t5(byte_tokenizer: Any) -> Any:
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(byte_tokenizer), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=2,
        decoder_start_token_id=byte_tokenizer.pad_token_id, pad_token_id=byte_tokenizer.pad_token_id,
        eos_token_id=byte_tokenizer.eos_token_id, initializer_factor=5.0,
    )  # fmt: skip
    return T5ForConditionalGeneration(config).eval()


@pytest.fixture(scope="session")
def llava(byte_tokenizer: Any) -> Any:
    """Images of 16 by 16 pixels, four tokens each."""
    from transformers import CLIPVisionConfig, LlavaConfig, LlavaForConditionalGeneration

    torch.manual_seed(0)
    vision = CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=16,
        patch_size=8,
    )
    text = make_llama(byte_tokenizer).config
    config = LlavaConfig(
        vision_config=vision, text_config=text, vision_feature_layer=-1, image_seq_length=4,
        image_token_index=byte_tokenizer.convert_tokens_to_ids("<image>"),
        pad_token_id=byte_tokenizer.pad_token_id, eos_token_id=byte_tokenizer.eos_token_id,
    )  # fmt: skip
    model = LlavaForConditionalGeneration(config).eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.5)
    return model


class ImageProcessor:
    """What LLaVA's processor does with pixels that are ready: one placeholder becomes four."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.image_token = "<image>"
        self.calls = 0

    def __call__(self, images: Any = None, text: Any = None, **_: Any) -> dict[str, Any]:
        self.calls += 1
        ids = self.tokenizer(text[0].replace("<image>", 4 * "<image>"), add_special_tokens=False)["input_ids"]
        inputs = {
            "input_ids": torch.tensor([ids]),
            "attention_mask": torch.ones((1, len(ids)), dtype=torch.long),
        }
        if images:
            inputs["pixel_values"] = torch.stack(list(images))
        return inputs

    def apply_chat_template(self, messages: Any, **_: Any) -> str:
        return "".join(
            "<image>" if part["type"] == "image" else part["text"]
            for message in messages
            for part in message["content"]
        )


@pytest.fixture(scope="session")
def image_processor(byte_tokenizer: Any) -> Any:
    return ImageProcessor(byte_tokenizer)


@pytest.fixture(scope="session")
def one_shot() -> Any:
    """The greedy ids of `model.generate`, without the prompt."""

    def run(model: Any, count: int = 20, **inputs: Any) -> list[int]:
        with torch.inference_mode():
            output = model.generate(**inputs, max_new_tokens=count, do_sample=False)
        is_seq2seq = model.config.is_encoder_decoder
        skip = 1 if is_seq2seq else inputs["input_ids"].shape[1] if "input_ids" in inputs else 0
        return output[0, skip:].tolist()

    return run


@pytest.fixture
def without_the_collector() -> Iterator[None]:
    """What is freed in a test is freed by its last reference."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Scripted:
    """A model that answers each prompt with a given text; every stream has its thread.

    Attributes:
        model: A Llama whose logits say what is written.
        before_step: Called with (prompt, step) in the forward that gives the token of this step.
        prompts: In the order in which their generation began.
        forwards: How many there were.
    """

    def __init__(self, llama: Any, tokenizer: Any, answers: dict[str, str]) -> None:
        self.model = copy.deepcopy(llama)
        self.answers = answers
        self.before_step: Callable[[str, int], object] = lambda *_: None
        self.prompts: list[str] = []
        self.forwards = 0
        self._tokenizer = tokenizer
        self._local = threading.local()
        self.model.register_forward_hook(self._write, with_kwargs=True)

    def _write(self, _: Any, __: Any, inputs: dict[str, Any], output: Any) -> None:
        ids, local = inputs["input_ids"], self._local
        self.forwards += 1
        if ids.shape[1] > 1:
            local.prompt, local.step = self._tokenizer.decode(ids[0]), 0
            self.prompts.append(local.prompt)
        self.before_step(local.prompt, local.step)
        answer = self._tokenizer(self.answers.get(local.prompt, ""))["input_ids"]
        output.logits.fill_(float("-inf"))
        output.logits[..., [*answer, self._tokenizer.eos_token_id][local.step]] = 0
        local.step += 1


@pytest.fixture
def scripted(llama: Any, byte_tokenizer: Any) -> Any:
    """Makes a `Scripted` of answers by prompt."""
    return lambda answers: Scripted(llama, byte_tokenizer, answers)
