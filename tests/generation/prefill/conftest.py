"""Tiny random models, built in code, and the two ways to decode after a prefill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from unspool.generation.prefill.cache import make_cache
from unspool.generation.prefill.cache_name import named_for, output_cache, pop_cache
from unspool.generation.prefill.forward import ForwardCaller
from unspool.generation.prefill.prepared import PreparedPrompt

IMAGE, END = 298, 299
NEW = 12

_TINY: dict[str, Any] = {
    "vocab_size": 300, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
    "bos_token_id": 0, "eos_token_id": END, "pad_token_id": END, "initializer_range": 0.2,
}  # fmt: skip
_GPT2 = {
    "vocab_size": 300, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256,
    "bos_token_id": 0, "eos_token_id": END, "pad_token_id": END, "initializer_range": 0.2,
}  # fmt: skip

# name: (config, model, what differs from the tiny one)
_MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", {}),
    "mistral": ("MistralConfig", "MistralForCausalLM", {"sliding_window": 8}),
    "gemma2": (
        "Gemma2Config",
        "Gemma2ForCausalLM",
        {"head_dim": 8, "sliding_window": 8, "query_pre_attn_scalar": 8},
    ),
    "gemma3": (
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        {
            "head_dim": 8,
            "sliding_window": 8,
            "query_pre_attn_scalar": 8,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    "llama4": (
        "Llama4TextConfig",
        "Llama4ForCausalLM",
        {
            "head_dim": 8,
            "attention_chunk_size": 8,
            "intermediate_size_mlp": 32,
            "num_local_experts": 2,
            "num_experts_per_tok": 1,
            "no_rope_layers": [1, 0],
        },
    ),
    "mamba": ("MambaConfig", "MambaForCausalLM", {"state_size": 4}),
    "longrope": (
        "Phi3Config",
        "Phi3ForCausalLM",
        {
            "original_max_position_embeddings": 20,
            "rope_scaling": {
                "type": "longrope",
                "short_factor": [1.0] * 4,
                "long_factor": [8.0] * 4,
            },
        },
    ),
}


def build(name: str) -> Any:
    """A model by name, always with the same weights; skips where this transformers has none."""
    torch.manual_seed(1)
    if name == "gpt2":
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**_GPT2))
    else:
        config, kind, options = _MODELS[name]
        if not hasattr(transformers, config):
            pytest.skip(f"transformers {transformers.__version__} has no {kind}")
        model = getattr(transformers, kind)(getattr(transformers, config)(**{**_TINY, **options}))
    return model.eval()


def build_llava() -> Any:
    """Images of 16 pixels in patches of 8: 4 placeholders each."""
    torch.manual_seed(0)
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(
            image_size=16, patch_size=8, hidden_size=32, intermediate_size=32, num_hidden_layers=2,
            num_attention_heads=2, initializer_range=0.2,
        ),
        text_config=transformers.LlamaConfig(**_TINY),
        image_token_index=IMAGE, image_seq_length=4, vision_feature_select_strategy="default",
        eos_token_id=END, pad_token_id=END,
    )  # fmt: skip
    return transformers.LlavaForConditionalGeneration(config).eval()


def one_shot(model: Any, inputs: dict[str, Any]) -> list[int]:
    """Greedy ids of `model.generate`, which knows nothing of a prefill."""
    ids = inputs["input_ids"]
    with torch.inference_mode():
        output = model.generate(
            **named_for(model.generate, inputs), max_new_tokens=NEW, min_new_tokens=NEW, do_sample=False
        )
    return list(output[0, ids.shape[1] :].tolist())


def decode(model: Any, prepared: PreparedPrompt) -> list[int]:
    """Greedy ids of a loop by hand, which goes on from a prefill."""
    caller = ForwardCaller(model)
    arguments = prepared.forward_arguments()
    if arguments["cache"] is None:
        arguments["cache"] = make_cache(model)
    made: list[int] = []
    with torch.inference_mode():
        while True:
            output = caller(**arguments)
            scores = output.logits[0, -1].clone()
            scores[END] = float("-inf")
            made.append(int(scores.argmax()))
            if len(made) == NEW:
                return made
            length = prepared.token_count + len(made)
            arguments = {
                "input_ids": torch.tensor([made[-1:]]),
                "attention_mask": torch.ones((1, length), dtype=torch.long),
                "cache": output_cache(output),
                "use_cache": True,
                "cache_position": torch.tensor([length - 1]),
            }


class Spy:
    """Writes down what each forward of a model is given and gives back; a cache is `cache` in any transformers."""

    def __init__(self, model: Any) -> None:
        self.calls: list[dict[str, Any]] = []
        self.outputs: list[Any] = []
        self._handles = [
            model.register_forward_pre_hook(self._before, with_kwargs=True),
            model.register_forward_hook(self._after, with_kwargs=True),
        ]

    def _before(self, _: Any, __: Any, arguments: dict[str, Any]) -> None:
        call = dict(arguments)
        self.calls.append({"cache": pop_cache(call), **call})

    def _after(self, _: Any, __: Any, ___: Any, output: Any) -> None:
        self.outputs.append(output)

    def lengths(self) -> list[int]:
        """How many tokens each forward ran."""
        return [
            call["input_ids"].shape[1] if "input_ids" in call else call["inputs_embeds"].shape[1]
            for call in self.calls
        ]

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()


@pytest.fixture(scope="session")
def models() -> Callable[[str], Any]:
    """Each model once."""
    built: dict[str, Any] = {}

    def get(name: str) -> Any:
        if name not in built:
            built[name] = build_llava() if name == "llava" else build(name)
        return built[name]

    return get


@pytest.fixture
def spy() -> Iterator[Callable[[Any], Spy]]:
    made: list[Spy] = []

    def watch(model: Any) -> Spy:
        made.append(Spy(model))
        return made[-1]

    yield watch
    for one in made:
        one.remove()


@pytest.fixture(scope="session")
def decoding() -> SimpleNamespace:
    """`one_shot(model, inputs)` and `decode(model, prepared)`."""
    return SimpleNamespace(one_shot=one_shot, decode=decode, image=IMAGE)
