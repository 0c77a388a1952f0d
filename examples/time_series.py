"""Streams a model's answer about a time series: encoder, projector, a tiny Llama fed with embeddings.

Run: python examples/time_series.py

The weights are random, so the text means nothing; what is shown is how a model of one's own streams. The
model makes its own inputs (`encode_sample`) and prepares its layers for a request (`Conditioning`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from unspool import ConditioningHook
from unspool.integrations.opentslm import SampleGenerator

PATCH = 4  # values of a series that become one embedding


@dataclass
class SeriesPrompt:
    """Text, a series, and text again."""

    before: str
    series: Sequence[float]
    after: str

    def to_dict(self) -> dict[str, Any]:
        return {"before": self.before, "series": list(self.series), "after": self.after}


class SeriesEncoder(torch.nn.Module):
    """A series as embeddings, one per patch: shape (n) to (1, n / PATCH, size)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv1d(1, 8, kernel_size=PATCH, stride=PATCH)
        self.projector = torch.nn.Linear(8, size)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        return self.projector(torch.nn.functional.gelu(self.convolution(series[None, None])).transpose(1, 2))


class Conditioning(ConditioningHook):
    """Remembers which request the model is conditioned on; a real hook would set cross-attention layers."""

    def __init__(self) -> None:
        self.conditioned_on: torch.Tensor | None = None

    def setup(self, inputs: Mapping[str, Any]) -> None:
        self.conditioned_on = inputs["inputs_embeds"]

    def cleanup(self) -> None:
        self.conditioned_on = None


class SeriesGenerator(SampleGenerator):
    """A generator whose samples contain a series."""

    def __init__(self, model: Any, tokenizer: Any, encoder: SeriesEncoder, **options: Any) -> None:
        super().__init__(model, tokenizer, **options)
        self.encoder = encoder

    def encode_sample(self, sample: Any, normalize: bool) -> Mapping[str, Any]:
        parts = sample if isinstance(sample, Mapping) else sample.to_dict()
        series = pad(torch.tensor(parts["series"], dtype=torch.float32))
        if normalize:
            series = scale(series)
        embeds = [self._embed(parts["before"]), self.encoder(series), self._embed(parts["after"])]
        whole = torch.cat(embeds, dim=1)
        return {
            "inputs_embeds": whole,
            "attention_mask": torch.ones(whole.shape[:2], dtype=torch.long),
        }

    def _embed(self, text: str) -> torch.Tensor:
        ids = torch.tensor([self.tokenizer(text)["input_ids"]], dtype=torch.long)
        return self.model.get_input_embeddings()(ids)


def pad(series: torch.Tensor) -> torch.Tensor:
    """Pad to a multiple of PATCH with the last value."""
    missing = -len(series) % PATCH
    return torch.cat([series, series[-1:].expand(missing)])


def scale(series: torch.Tensor) -> torch.Tensor:
    """Scale to zero mean and unit variance; a constant series becomes zeros."""
    deviation = series.std(correction=0)
    return (series - series.mean()) / torch.where(deviation > 0, deviation, torch.ones(()))


def make_generator(hook: ConditioningHook | None = None) -> SeriesGenerator:
    """All parts, tiny and random; the tokenizer writes bytes."""
    torch.manual_seed(0)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = {token: id for id, token in enumerate([*alphabet, "<end>"])}
    bytes_tokenizer = Tokenizer(models.BPE(tokens, []))
    bytes_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_tokenizer.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytes_tokenizer, eos_token="<end>")
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=2048,
        eos_token_id=tokenizer.eos_token_id, bos_token_id=None, pad_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    return SeriesGenerator(LlamaForCausalLM(config), tokenizer, SeriesEncoder(32), hook=hook)


def main() -> None:
    generator = make_generator(Conditioning())
    prompt = SeriesPrompt("Heart rate: ", [61, 62, 64, 90, 120, 118, 99, 80, 71], " What happened?")
    for text in generator.stream_prompt(prompt, max_new_tokens=30, normalize=True, do_sample=False):
        print(text, end="", flush=True)
    print()


if __name__ == "__main__":
    main()
