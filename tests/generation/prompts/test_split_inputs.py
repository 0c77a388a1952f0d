"""What belongs to tokens in a processor's output, and what does not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from unspool import ArgumentError
from unspool.errors import PrefillError
from unspool.generation.prompts.split_inputs import split_inputs

IMG = 90  # an image's placeholder


def ids(*values: int) -> torch.Tensor:
    return torch.tensor([values])


def test_what_belongs_to_tokens_and_what_does_not() -> None:
    prompt = split_inputs(
        {
            "input_ids": [[1, IMG, 3]],
            "attention_mask": torch.ones(1, 3),
            "token_type_ids": [[0, 1, 0]],
            "pixel_values": torch.ones(1, 3, 2, 2),
            "image_sizes": torch.ones(1, 3),  # as long as the prompt, by chance
            "labels": None,
        }
    )
    assert prompt.input_ids.tolist() == [[1, IMG, 3]]
    assert prompt.input_ids.dtype == torch.long
    assert {name: value.tolist() for name, value in prompt.token_inputs.items()} == {
        "token_type_ids": [[0, 1, 0]]
    }
    assert sorted(prompt.static_inputs) == ["image_sizes", "pixel_values"]
    assert prompt.padding_mask is None


def test_a_padded_prompt_keeps_its_mask() -> None:
    prompt = split_inputs({"input_ids": ids(0, 5, 6), "attention_mask": ids(0, 1, 1)})
    assert prompt.padding_mask is not None
    assert prompt.padding_mask.tolist() == [[0, 1, 1]]


class Feature(dict[str, Any]):
    """Like transformers' BatchFeature: a mapping that moves itself."""

    moved_to: Any = None

    def to(self, device: Any) -> Feature:
        self.moved_to = device
        return self


def test_the_output_moves_itself() -> None:
    output = Feature(input_ids=ids(1, 2))
    split_inputs(output, torch.device("cpu"))
    assert output.moved_to == torch.device("cpu")


def test_outputs_that_are_none() -> None:
    with pytest.raises(PrefillError, match="returned a list"):
        split_inputs([1, 2])
    with pytest.raises(PrefillError, match="no input_ids"):
        split_inputs({"pixel_values": 1})
    with pytest.raises(ArgumentError, match="one row"):
        split_inputs({"input_ids": torch.ones(2, 3)})
