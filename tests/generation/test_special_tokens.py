"""add_special_tokens: room in the model for what the tokenizer learns."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM
from unspool import ArgumentError, add_special_tokens


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_embeddings_grow_on_every_device(llama: Any, byte_tokenizer: Any, device: str) -> None:
    tokenizer = copy.deepcopy(byte_tokenizer)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(llama.config)
    before = len(tokenizer)
    assert add_special_tokens(model, tokenizer, ["<series>", "</series>"]) == 2
    assert len(tokenizer) == before + 2
    assert model.get_input_embeddings().weight.shape[0] == before + 2
    assert model.get_output_embeddings().weight.shape[0] == before + 2
    assert tokenizer.convert_tokens_to_ids("<series>") == before
    assert tokenizer.decode([before], skip_special_tokens=True) == ""
    assert add_special_tokens(model, tokenizer, ["<series>"]) == 0
    assert (
        "<|im_start|>" in tokenizer.all_special_tokens
        or tokenizer.decode([259], skip_special_tokens=True) == ""
    )


class Recorder:
    """A model that notes how it is resized."""

    def __init__(self, refuses: bool) -> None:
        self.refuses = refuses
        self.calls: list[tuple[int, dict[str, Any]]] = []

    def resize_token_embeddings(self, size: int, **options: Any) -> None:
        if options and self.refuses:
            raise TypeError("resize_token_embeddings() got an unexpected keyword argument 'mean_resizing'")
        self.calls.append((size, options))


def test_the_mean_is_not_asked_for_where_the_option_is_known(byte_tokenizer: Any) -> None:
    for refuses in (False, True):
        tokenizer, model = copy.deepcopy(byte_tokenizer), Recorder(refuses)
        add_special_tokens(model, tokenizer, ["<a>"])
        assert model.calls == [(len(tokenizer), {} if refuses else {"mean_resizing": False})]


def test_rows_to_spare_are_used(byte_tokenizer: Any, llama: Any) -> None:
    tokenizer = copy.deepcopy(byte_tokenizer)
    config = copy.deepcopy(llama.config)
    config.vocab_size = 512
    model = AutoModelForCausalLM.from_config(config)
    add_special_tokens(model, tokenizer, ["<a>"])
    assert model.get_input_embeddings().weight.shape[0] == 512


def test_one_string_is_refused(byte_tokenizer: Any, llama: Any) -> None:
    with pytest.raises(ArgumentError, match="pass a list"):
        add_special_tokens(llama, byte_tokenizer, "<a>")
