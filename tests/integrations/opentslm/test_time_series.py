"""The time-series example: samples of one's own, streamed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

EXAMPLE = Path(__file__).parents[3] / "examples" / "time_series.py"


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("time_series", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["time_series"] = module
    spec.loader.exec_module(module)
    return module


def test_it_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], check=False, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


SERIES = [3.0, 4.0, 5.5, 7.0, 6.0, 5.0, 4.0]


def test_streamed_equals_one_shot(example: Any) -> None:
    generator = example.make_generator()
    for normalize in (False, True):
        prompt = example.SeriesPrompt("Pulse: ", SERIES, " What happened?")
        generator.model.train()
        texts = generator.stream_prompt(prompt, max_new_tokens=20, normalize=normalize, do_sample=False)
        assert generator.model.training is False
        with torch.inference_mode():
            inputs = generator.encode_sample(prompt, normalize)
            ids = generator.model.generate(**inputs, max_new_tokens=20, do_sample=False)
        expected = generator.tokenizer.decode(ids[0], skip_special_tokens=True)
        assert "".join(texts) == expected
        batch = generator.stream_generate([prompt], max_new_tokens=20, normalize=normalize, do_sample=False)
        assert "".join(batch) == expected


def test_samples_may_be_mappings_and_are_checked_at_the_call(example: Any) -> None:
    generator = example.make_generator()
    sample = example.SeriesPrompt("Pulse: ", SERIES, "?").to_dict()
    assert "".join(generator.stream_prompt(sample, max_new_tokens=5))
    with pytest.raises(ValueError, match="exactly one sample"):
        generator.stream_generate([sample, sample])
    with pytest.raises(ValueError, match="max_new_tokens is 0"):
        generator.stream_prompt(sample, max_new_tokens=0)


def test_an_error_of_the_encoder_arrives(example: Any) -> None:
    generator = example.make_generator()
    with pytest.raises(KeyError, match="series"):
        list(generator.stream_prompt({"before": "", "after": ""}, max_new_tokens=5))


def test_conditioning_is_cleaned_up(example: Any) -> None:
    hook = example.Conditioning()
    generator = example.make_generator(hook)
    texts = generator.stream_prompt(example.SeriesPrompt("a", SERIES, "b"), max_new_tokens=5)
    assert "".join(texts)
    assert hook.conditioned_on is None


def test_scaling(example: Any) -> None:
    scaled = example.scale(torch.tensor(SERIES))
    assert scaled.mean().abs() < 1e-6
    assert (scaled.var(correction=0) - 1).abs() < 1e-5
    assert example.scale(torch.full((5,), 3.0)).tolist() == [0.0] * 5
    assert example.pad(torch.tensor(SERIES)).shape == (8,)
    assert example.pad(torch.tensor(SERIES))[-1] == SERIES[-1]
