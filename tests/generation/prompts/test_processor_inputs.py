"""A chat with images and sounds, on its way to ids and features."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from unspool import ArgumentError
from unspool.errors import PrefillError
from unspool.generation.prompts.chat_template import render_messages
from unspool.generation.prompts.processor_inputs import build_multimodal_inputs

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "image", "image": "cat"}, {"type": "text", "text": "What?"}]},
]
SOUND = [{"role": "user", "content": [{"type": "audio", "audio": "bark", "sampling_rate": 16000}]}]
MODEL = SimpleNamespace(device=torch.device("cpu"))
PLAIN = "SYSTEM: Be brief.\nUSER: <image>What?\nASSISTANT:"


class Output(dict[str, Any]):
    """Like transformers' BatchFeature: a mapping that moves itself."""

    moved_to: Any = None

    def to(self, device: Any) -> Output:
        self.moved_to = device
        return self


class Processor:
    """Takes what a test's `call` takes."""

    image_token = "<image>"

    def __init__(self, template: str | Exception | None = "rendered") -> None:
        self.template = template
        self.given: dict[str, Any] = {}
        self.output = Output(input_ids=torch.tensor([[1, 2, 3]]), pixel_values=torch.ones(1, 3))

    def apply_chat_template(self, messages: Any, **options: Any) -> Any:
        self.rendered = (messages, options)
        if isinstance(self.template, Exception):
            raise self.template
        return self.template

    def __call__(self, text: Any = None, images: Any = None, **options: Any) -> Any:
        self.given = {"text": text, "images": images, **options}
        return self.output


def test_the_processor_makes_ids_and_features() -> None:
    processor = Processor()
    inputs = build_multimodal_inputs(
        MODEL, processor, None, MESSAGES, chat_template_kwargs={"enable_thinking": False}
    )
    assert inputs["input_ids"].tolist() == [[1, 2, 3]]
    assert torch.equal(inputs["pixel_values"], torch.ones(1, 3))
    # The template has written what begins a prompt.
    assert processor.given == {
        "text": ["rendered"], "images": ["cat"], "return_tensors": "pt", "add_special_tokens": False,
    }  # fmt: skip
    assert processor.output.moved_to == torch.device("cpu")
    messages, options = processor.rendered
    assert messages == MESSAGES
    assert options == {"tokenize": False, "add_generation_prompt": True, "enable_thinking": False}


def test_without_a_template_the_tokenizer_adds_what_begins_a_prompt() -> None:
    processor = Processor(template=AttributeError("no template"))
    build_multimodal_inputs(MODEL, processor, None, MESSAGES)
    assert processor.given["text"] == [PLAIN]
    assert processor.given["add_special_tokens"] is True


def test_a_processor_that_takes_little() -> None:
    class Strict(Processor):
        def __call__(self, text: Any, images: Any) -> Any:  # type: ignore[override]
            self.given = {"text": text, "images": images}
            return {"input_ids": [[4, 5]], "pixel_values": [0.5]}

    processor = Strict()
    inputs = build_multimodal_inputs(MODEL, processor, None, MESSAGES)
    assert processor.given == {"text": ["rendered"], "images": ["cat"]}
    assert inputs["input_ids"].tolist() == [[4, 5]]


def test_sounds_under_either_name() -> None:
    class Older(Processor):
        def __call__(self, text: Any = None, audios: Any = None, sampling_rate: Any = None) -> Any:  # type: ignore[override]
            self.given = {"text": text, "audios": audios, "sampling_rate": sampling_rate}
            return self.output

    class Newer(Processor):
        def __call__(self, text: Any = None, audio: Any = None) -> Any:  # type: ignore[override]
            self.given = {"text": text, "audio": audio}
            return self.output

    class Uninspectable(Processor):
        @property
        def __signature__(self) -> Any:
            raise ValueError("no signature")

    for processor, expected in (
        (Older(), {"text": ["rendered"], "audios": ["bark"], "sampling_rate": 16000}),
        (Newer(), {"text": ["rendered"], "audio": ["bark"]}),
    ):
        build_multimodal_inputs(MODEL, processor, None, SOUND)
        assert processor.given == expected
    processor = Uninspectable()
    build_multimodal_inputs(MODEL, processor, None, SOUND)
    assert processor.given["audio"] == ["bark"]
    assert processor.given["sampling_rate"] == 16000


def test_media_that_the_processor_does_not_take() -> None:
    class TextOnly(Processor):
        def __call__(self, text: Any) -> Any:  # type: ignore[override]
            raise AssertionError(f"called with {text}")

    with pytest.raises(ArgumentError, match="have images, which the processor does not accept"):
        build_multimodal_inputs(MODEL, TextOnly(), None, MESSAGES)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"type": "image"}, "type 'image' has no data; pass it under 'image'"),
        ({"type": "image_url", "image_url": {"url": "x"}}, "type 'image_url' is not known"),
    ],
)
def test_a_part_that_is_not_understood(part: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        build_multimodal_inputs(MODEL, Processor(), None, [{"role": "user", "content": [part]}])


def test_an_image_at_an_address() -> None:
    processor = Processor()
    part = {"type": "image", "url": "file:cat.png"}
    build_multimodal_inputs(MODEL, processor, None, [{"role": "user", "content": [part]}])
    assert processor.given["images"] == ["file:cat.png"]


@pytest.mark.parametrize(
    ("output", "message"),
    [([1, 2], "the processor returned a list"), ({"pixel_values": 1}, "returned no input_ids")],
)
def test_an_output_that_is_none(output: Any, message: str) -> None:
    processor = Processor()
    processor.output = output
    with pytest.raises(PrefillError, match=message):
        build_multimodal_inputs(MODEL, processor, None, MESSAGES)


def test_more_than_one_row() -> None:
    processor = Processor()
    processor.output = Output(input_ids=torch.ones(2, 3))
    with pytest.raises(ArgumentError, match="one row"):
        build_multimodal_inputs(MODEL, processor, None, MESSAGES)


class Prepares:
    device = torch.device("cpu")

    def __init__(self, output: Any) -> None:
        self.output, self.asked = output, None

    def prepare_chunked_prefill_static_inputs(self, messages: Any, device: Any) -> Any:
        self.asked = (messages, device)
        return self.output


def test_a_method_of_its_own_has_the_word() -> None:
    whole = {"input_ids": torch.tensor([[9]]), "features": torch.ones(1)}
    model = Prepares(whole)
    assert build_multimodal_inputs(model, None, None, MESSAGES) == whole
    assert model.asked == (MESSAGES, torch.device("cpu"))

    model = Prepares({"features": torch.ones(1)})
    inputs = build_multimodal_inputs(model, Processor(), None, MESSAGES)
    assert sorted(inputs) == ["features", "input_ids"]  # not the processor's pixels
    with pytest.raises(PrefillError, match="prepare_chunked_prefill_static_inputs returned a NoneType"):
        build_multimodal_inputs(Prepares(None), Processor(), None, MESSAGES)


def test_without_a_processor_the_ids_are_the_tokenizers() -> None:
    class Tokenizer(Processor):
        def __call__(self, text: Any, **options: Any) -> Any:  # type: ignore[override]
            self.given = {"text": text, **options}
            return {"input_ids": torch.tensor([[6, 7]])}

    tokenizer = Tokenizer()
    inputs = build_multimodal_inputs(Prepares({"features": 1}), None, tokenizer, MESSAGES)
    assert inputs["input_ids"].tolist() == [[6, 7]]
    assert inputs["features"] == 1
    assert tokenizer.given["add_special_tokens"] is False


@pytest.mark.parametrize("error", [TypeError("x"), ValueError("x"), AttributeError("x")])
def test_the_way_down_from_template_to_plain_text(error: Exception) -> None:
    first, second = Processor(error), Processor("the tokenizer's")
    assert render_messages(first, MESSAGES, fallback=second) == ("the tokenizer's", True)
    second.template = error
    assert render_messages(first, MESSAGES, fallback=second) == (PLAIN, False)
    assert render_messages(Processor(), MESSAGES, fallback=second) == ("rendered", True)
    assert render_messages(None, [{"role": "user", "content": None}]) == ("USER: \nASSISTANT:", False)


@pytest.mark.parametrize("renderer", [None, Processor(ValueError("no template"))])
def test_tools_and_calls_are_never_left_out(renderer: Any) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    called = [*MESSAGES, {"role": "assistant", "content": None, "tool_calls": [call]}]
    for messages, tools in ((MESSAGES, [{"name": "f"}]), (called, None)):
        with pytest.raises(ArgumentError, match=r"has no chat template.*set tokenizer\.chat_template"):
            render_messages(renderer, messages, tools=tools)
    assert render_messages(None, MESSAGES, tools=[]) == (PLAIN.replace("<image>", ""), False)


def test_another_error_of_a_template_is_the_users() -> None:
    with pytest.raises(KeyError):
        render_messages(Processor(KeyError("x")), MESSAGES)


def test_tools_reach_the_template() -> None:
    processor = Processor()
    render_messages(processor, MESSAGES, tools=[{"name": "f"}])
    assert processor.rendered[1]["tools"] == [{"name": "f"}]


def test_what_a_template_refuses_is_not_written_plainly() -> None:
    processor = Processor(ValueError("roles must alternate"))
    processor.chat_template = "{{ messages }}"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="roles must alternate"):
        render_messages(processor, MESSAGES)
    assert render_messages(processor, MESSAGES, fallback=Processor()) == ("rendered", True)
