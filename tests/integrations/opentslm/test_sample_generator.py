"""OpenTSLM's methods with prompts that need no encoder; test_time_series.py has samples."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from unspool import ArgumentError
from unspool.integrations.opentslm import SampleGenerator

PROMPT = "Hello"


@pytest.fixture
def generator(llama: Any, byte_tokenizer: Any) -> SampleGenerator:
    return SampleGenerator(llama, byte_tokenizer)


def test_stream_generate_takes_exactly_one_sample(generator: SampleGenerator) -> None:
    texts = list(generator.stream_generate([PROMPT], max_new_tokens=5, do_sample=False))
    assert "".join(texts) == generator.generate(PROMPT, max_new_tokens=5, do_sample=False).text
    for batch in ([], [PROMPT, PROMPT], torch.zeros((2, 3), dtype=torch.long)):
        with pytest.raises(ValueError, match="exactly one sample"):
            generator.stream_generate(batch)
    with pytest.raises(ValueError, match="exactly one sample"):
        generator.stream_generate(PROMPT)


def test_a_class_without_an_encoder_names_it_at_the_call(generator: SampleGenerator) -> None:
    with pytest.raises(NotImplementedError, match=r"SampleGenerator\.encode_sample"):
        generator.stream_prompt({"series": [1, 2]})
    with pytest.raises(NotImplementedError, match="encode_sample"):
        generator.stream_prompt(PROMPT, normalize=True)


def test_inputs_of_a_sample_are_checked(llama: Any, byte_tokenizer: Any) -> None:
    class Rows(SampleGenerator):
        def encode_sample(self, sample: Any, normalize: bool) -> Any:
            return {"input_ids": [[int(normalize), *sample["series"]]] * sample["rows"]}

    generator = Rows(llama, byte_tokenizer)
    assert "".join(generator.stream_prompt({"series": [66, 67], "rows": 1}, normalize=True, max_new_tokens=3))
    with pytest.raises(ArgumentError, match="exactly one row"):
        list(generator.stream_prompt({"series": [66], "rows": 2}, max_new_tokens=3))


def test_a_series_is_a_sample_without_normalize_too(llama: Any, byte_tokenizer: Any) -> None:
    encoded: list[bool] = []

    class Rows(SampleGenerator):
        def encode_sample(self, sample: Any, normalize: bool) -> Any:
            encoded.append(normalize)
            return {"input_ids": [[66, *map(int, sample)]]}

    generator = Rows(llama, byte_tokenizer)
    for normalize in (False, True):
        assert "".join(generator.stream_prompt(torch.tensor([66.0, 67.0]), 3, normalize, do_sample=False))
    assert encoded == [False, True]
