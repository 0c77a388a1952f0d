"""prefill_causal with images: each goes once, with all of its placeholders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers
from unspool.generation.prefill.cache import make_cache
from unspool.generation.prefill.causal import prefill_causal
from unspool.generation.prefill.forward import ForwardCaller
from unspool.generation.prefill.strategy import PrefillConfig

GENERIC, NATIVE = "transformers-generic-multimodal", "optimized-native-multimodal"
IMAGE = [298] * 4
LAYOUTS = {
    "two images": [5, 6, *IMAGE, 7, 8, 9, 10, 11, 12, 13, 14, *IMAGE, 20, 21, 22, 23],
    "side by side": [5, 6, *IMAGE, *IMAGE, 20, 21, 22, 23, 24, 25],
    "image first": [*IMAGE, 20, 21, 22, 23, 24, 25, 26],
    "image last": [5, 6, 7, 8, *IMAGE],
    "image last but one": [5, 6, *IMAGE, 7, *IMAGE, 20],
}
# LLaVA before 4.50 reads one id of text at a time, so one token is left, and no pixels.
LEAVES_ONE = hasattr(transformers.LlavaForConditionalGeneration, "_merge_input_ids_with_image_features")

Models = Callable[[str], Any]


def inputs(ids: list[int]) -> dict[str, Any]:
    torch.manual_seed(4)
    row = torch.tensor([ids])
    pixels = torch.randn(ids.count(298) // 4, 3, 16, 16)
    return {"input_ids": row, "attention_mask": torch.ones_like(row), "pixel_values": pixels}


def prefill(model: Any, given: dict[str, Any], chunk_tokens: int, **options: Any) -> Any:
    options.setdefault("strategy", GENERIC)
    with torch.inference_mode():
        return prefill_causal(model, inputs=given, config=PrefillConfig(chunk_tokens=chunk_tokens), **options)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_tokens_are_those_of_one_shot(models: Models, decoding: Any, spy: Any, layout: str) -> None:
    model = models("llava")
    given = inputs(LAYOUTS[layout])
    n = given["input_ids"].shape[1]
    expected = decoding.one_shot(model, given)
    watch = spy(model.vision_tower if LEAVES_ONE else model.model.vision_tower)
    images = given["pixel_values"].shape[0]
    for chunk_tokens in (1, 2, 3, 8, n - 1, n, n + 1):
        prepared = prefill(model, given, chunk_tokens)
        assert prepared.scope.applied is (chunk_tokens < n and layout != "image last")
        assert decoding.one_shot(model, prepared.generate_arguments()) == expected
        assert seen(watch) == images
        prepared = prefill(model, given, chunk_tokens, strategy=NATIVE)
        assert decoding.decode(model, prepared) == expected
        assert seen(watch) == images


def seen(watch: Any) -> int:
    """How many images the vision tower has seen since it was asked last."""
    count = sum(output.last_hidden_state.shape[0] for output in watch.outputs)
    watch.outputs.clear()
    return int(count)


def test_each_image_goes_with_its_placeholders(models: Models, spy: Any) -> None:
    model = models("llava")
    given = inputs(LAYOUTS["two images"])
    watch = spy(model)
    prepared = prefill(model, given, 3)
    with_pixels = [call for call in watch.calls if call.get("pixel_values") is not None]
    assert [call["input_ids"].tolist() for call in with_pixels] == [[IMAGE], [IMAGE]]
    for row, call in enumerate(with_pixels):
        assert torch.equal(call["pixel_values"], given["pixel_values"][row : row + 1])
    # 5 6 | image | 7 8 9 | 10 11 12 | 13 14 | image | 20 21 22 | 23
    assert watch.lengths() == [2, 4, 3, 3, 2, 4, 3]
    assert [call["attention_mask"].shape[1] for call in watch.calls] == [2, 6, 9, 12, 14, 18, 21]
    assert (prepared.prefilled, prepared.static_inputs) == (21, {})


def test_two_images_in_one_chunk(models: Models, spy: Any) -> None:
    watch = spy(models("llava"))
    prefill(models("llava"), inputs(LAYOUTS["two images"]), 18)
    assert watch.calls[0]["pixel_values"].shape[0] == 2
    assert watch.lengths()[0] == 18


def test_generate_is_left_no_pixels_and_our_loop_may_be(models: Models) -> None:
    given = inputs(LAYOUTS["two images"])
    generic = prefill(models("llava"), given, 8)
    assert generic.static_inputs == {}
    native = prefill(models("llava"), given, 8, strategy=NATIVE)
    if LEAVES_ONE:
        assert (native.decode_prefix_tokens, native.static_inputs) == (1, {})
    else:
        assert (native.prefilled, generic.prefilled) == (14, 18)
        assert torch.equal(native.static_inputs["pixel_values"], given["pixel_values"][1:])


def test_an_image_at_the_very_end_is_one_shot(models: Models, spy: Any) -> None:
    given = inputs(LAYOUTS["image last"])
    watch = spy(models("llava"))
    prepared = prefill(models("llava"), given, 3)
    assert not watch.calls
    scope = prepared.scope
    assert (scope.strategy_id, scope.runtime_eligible, scope.applied) == (GENERIC, False, False)
    assert scope.activation_reason == "the prompt's last token belongs to an image or sound"
    assert torch.equal(prepared.static_inputs["pixel_values"], given["pixel_values"])
    assert (prepared.cache, prepared.prefilled) == (None, 0)


def test_pixels_without_a_placeholder(models: Models) -> None:
    given = inputs(LAYOUTS["image first"])
    given["input_ids"] = torch.full_like(given["input_ids"], 5)
    scope = prefill(models("llava"), given, 3).scope
    assert scope.activation_reason == "no placeholder of the images or sounds is found in the prompt"


@pytest.mark.parametrize("chunk_tokens", [1, 3, 8, 40])
def test_a_cache_that_holds_the_first_image(models: Models, decoding: Any, chunk_tokens: int) -> None:
    model = models("llava")
    given = inputs(LAYOUTS["two images"])
    expected = decoding.one_shot(model, given)
    cache = make_cache(model)
    with torch.inference_mode():
        first = {"input_ids": given["input_ids"][:, :6], "pixel_values": given["pixel_values"][:1]}
        ForwardCaller(model)(**first, cache=cache, use_cache=True)
    prepared = prefill(model, given, chunk_tokens, cache=cache)
    assert prepared.cache is cache
    assert prepared.prefilled >= 18  # the second image cannot wait for generate
    assert decoding.one_shot(model, prepared.generate_arguments()) == expected


def test_a_cache_that_ends_inside_an_image_is_not_used(models: Models, decoding: Any) -> None:
    model = models("llava")
    given = inputs(LAYOUTS["image first"])
    cache = make_cache(model)
    text = model.language_model if LEAVES_ONE else model.model.language_model
    with torch.inference_mode():
        ForwardCaller(text)(input_ids=torch.tensor([[5, 6]]), cache=cache, use_cache=True)
    prepared = prefill(model, given, 3, cache=cache)
    assert "inside an image" in prepared.scope.activation_reason
    assert decoding.one_shot(model, prepared.generate_arguments()) == decoding.one_shot(model, given)


def test_values_of_tokens_are_cut_with_them(models: Models, spy: Any) -> None:
    """GPT-2 adds an embedding for each token's type, so a wrong cut changes the tokens."""
    model = models("gpt2")
    ids = torch.tensor([[3 * index % 290 + 1 for index in range(20)]])
    types = torch.tensor([[5 * index % 290 for index in range(20)]])
    given = {"input_ids": ids, "token_type_ids": types}
    watch = spy(model)
    prepared = prefill(model, given, 8)
    assert prepared.scope.applied
    assert [call["token_type_ids"].tolist() for call in watch.calls] == [
        types[:, :8].tolist(),
        types[:, 8:16].tolist(),
    ]
    with torch.inference_mode():
        expected = model(**given).logits[0, -1]
        arguments = prepared.forward_arguments()
        last = {name: arguments[name] for name in ("input_ids", "token_type_ids", "cache")}
        assert torch.allclose(ForwardCaller(model)(**last).logits[0, -1], expected, atol=1e-4)
    assert torch.equal(prepared.generate_arguments()["token_type_ids"], types)


def test_a_padded_prompt_is_one_shot_with_its_mask(models: Models, decoding: Any) -> None:
    model = models("llama")
    given = {"input_ids": torch.tensor([[0, 0, *range(5, 25)]])}
    given["attention_mask"] = (given["input_ids"] > 0).long()
    prepared = prefill(model, given, 4)
    assert prepared.scope.activation_reason == "the prompt is padded"
    assert torch.equal(prepared.attention_mask, given["attention_mask"])
    assert decoding.one_shot(model, prepared.generate_arguments()) == decoding.one_shot(model, given)


def build_gemma3() -> Any:
    if not hasattr(transformers, "Gemma3ForConditionalGeneration"):
        pytest.skip(f"transformers {transformers.__version__} has no Gemma 3")
    text = {
        "vocab_size": 300, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "sliding_window": 8,
        "query_pre_attn_scalar": 8, "bos_token_id": 0, "eos_token_id": 299, "pad_token_id": 299,
    }  # fmt: skip
    vision = {
        "image_size": 16, "patch_size": 8, "hidden_size": 32, "intermediate_size": 32,
        "num_hidden_layers": 1, "num_attention_heads": 2,
    }  # fmt: skip
    torch.manual_seed(2)
    config = transformers.Gemma3Config(
        text_config=text, vision_config=vision, image_token_index=298, image_token_id=298,
        mm_tokens_per_image=4, boi_token_index=296, eoi_token_index=297,
    )  # fmt: skip
    return transformers.Gemma3ForConditionalGeneration(config).eval()


def test_types_that_make_the_mask_are_one_shot(decoding: Any) -> None:
    """Gemma 3 lets the tokens of an image see each other, by types that are read past the chunk."""
    model = build_gemma3()
    given = inputs(LAYOUTS["two images"])
    given["token_type_ids"] = (given["input_ids"] == 298).long()
    prepared = prefill(model, given, 8)
    assert prepared.scope.activation_reason == "the model reads token_type_ids beyond a chunk"
    assert decoding.one_shot(model, prepared.generate_arguments()) == decoding.one_shot(model, given)
    ids = torch.tensor([list(range(5, 30))])
    text = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": ids * 0}
    prepared = prefill(model, text, 8)
    assert prepared.scope.applied
    assert decoding.one_shot(model, prepared.generate_arguments()) == decoding.one_shot(model, text)
