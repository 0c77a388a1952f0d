"""A prompt and its answer within the model's positions: refused or shortened before the model runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from unspool import ContextLengthError, GenerationDefaults, SamplingParams, StreamGenerator
from unspool.generation.hooks import ConditioningHook
from unspool.generation.prompts import prompt_encoder

from ..tiny_models import make_llama
from .helpers import BACKENDS

POSITIONS = 48


@pytest.fixture(scope="module")
def small(byte_tokenizer: Any) -> Any:
    """Never ends by itself."""
    model = make_llama(byte_tokenizer, max_position_embeddings=POSITIONS)
    model.generation_config.eos_token_id = None
    return model


def count_forwards(model: Any) -> tuple[list[int], Any]:
    calls: list[int] = []
    return calls, model.register_forward_hook(lambda *_: calls.append(1))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("prefill", [False, 8])
@pytest.mark.parametrize("length", [1, 20, 46, 47, 48, 49, 200])
@pytest.mark.parametrize("limit", [None, 1, 2, 28, 29])
def test_what_fits_runs_and_nothing_else(
    small: Any, byte_tokenizer: Any, backend: Any, prefill: Any, length: int, limit: int | None
) -> None:
    """A limit of the call must fit; another is lowered; the model does not run for what is refused."""
    generator = StreamGenerator(
        small, byte_tokenizer, backend=backend, prefill=prefill, config=GenerationDefaults(max_new_tokens=30)
    )
    calls, handle = count_forwards(small)
    sampling = SamplingParams(max_tokens=limit, temperature=0)
    options: dict[str, Any] = {"logits_processor": [_never_end(byte_tokenizer)], "sampling": sampling}
    try:
        if length + (limit or 1) > POSITIONS:
            with pytest.raises(ContextLengthError, match=rf"maximum context length is 48 .* has {length}\b"):
                generator.generate("x" * length, within_context=True, **options)
            assert not calls
            return
        result = generator.generate("x" * length, within_context=True, **options)
    finally:
        handle.remove()
    assert result.usage.prompt_tokens == length
    assert result.usage.completion_tokens == (limit or min(30, POSITIONS - length))
    assert result.finish_reason == "length"
    assert result.prefill.applied == (bool(prefill) and length > 8 and backend != "batched")
    free = generator.generate("x" * length, **options)
    assert free.token_ids[: len(result.token_ids)] == result.token_ids


def test_the_limit_is_not_checked_unless_asked(small: Any, byte_tokenizer: Any) -> None:
    """Rotary positions go on; who uses the library may want that."""
    result = StreamGenerator(small, byte_tokenizer).generate(
        "x" * 60, max_new_tokens=3, do_sample=False, logits_processor=[_never_end(byte_tokenizer)]
    )
    assert result.usage.completion_tokens == 3


def test_a_length_of_the_whole(small: Any, byte_tokenizer: Any) -> None:
    """`max_length` of the model's own config counts the prompt."""
    config = type(small.generation_config)(max_length=500, eos_token_id=None)
    generator = StreamGenerator(small, byte_tokenizer)
    result = generator.generate(
        "x" * 20, generation_config=config, within_context=True, do_sample=False,
        logits_processor=[_never_end(byte_tokenizer)],
    )  # fmt: skip
    assert result.usage.total_tokens == POSITIONS


def test_the_prompt_is_tokenized_once(
    small: Any, byte_tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []
    iterate = prompt_encoder.iter_prompt_ids

    def counted(tokenizer: Any, text: str, **options: Any) -> Any:
        texts.append(text)
        return iterate(tokenizer, text, **options)

    monkeypatch.setattr(prompt_encoder, "iter_prompt_ids", counted)
    generator = StreamGenerator(small, byte_tokenizer, prefill=4)
    for within in (True, False):
        generator.generate("x" * 20, max_new_tokens=2, do_sample=False, within_context=within)
    assert texts == ["x" * 20] * 2


@pytest.mark.parametrize("kind", ["ids", "messages", "embeds", "hook"])
def test_every_kind_of_prompt(small: Any, byte_tokenizer: Any, kind: str) -> None:
    text = "x" * 60

    class Same(ConditioningHook):
        def setup(self, inputs: Any) -> None:
            pass

        def cleanup(self) -> None:
            pass

    ids = torch.tensor([byte_tokenizer(text)["input_ids"]])
    prompt: dict[str, Any] = {
        "ids": {"prompt": ids},
        "messages": {"prompt": [{"role": "user", "content": text}]},
        "embeds": {"inputs_embeds": small.get_input_embeddings()(ids).detach()},
        "hook": {"prompt": text},
    }[kind]
    generator = StreamGenerator(small, byte_tokenizer, hook=Same() if kind == "hook" else None)
    with pytest.raises(ContextLengthError):
        generator.generate(**prompt, max_new_tokens=1, within_context=True)


def test_models_that_do_not_say(t5: Any, llama: Any, small: Any, byte_tokenizer: Any) -> None:
    """Unknown, or two lengths: nothing is checked."""
    assert StreamGenerator(small, byte_tokenizer).context_length == POSITIONS
    assert StreamGenerator(t5, byte_tokenizer).context_length is None

    class Silent:
        config, generation_config, device = SimpleNamespace(), llama.generation_config, llama.device

        def generate(self, **options: Any) -> Any:
            return llama.generate(**options)

    generator = StreamGenerator(Silent(), byte_tokenizer, format="none")
    assert generator.context_length is None
    result = generator.generate("x" * 100, max_new_tokens=2, do_sample=False, within_context=True)
    assert result.usage.prompt_tokens == 100


def _never_end(tokenizer: Any) -> Any:
    def never_end(_: Any, scores: Any) -> Any:
        scores[:, tokenizer.eos_token_id] = -torch.inf
        return scores

    return never_end
