"""Answers that the request begins."""

from __future__ import annotations

from typing import Any

import pytest
import unspool
from unspool import ArgumentError, StreamGenerator

from ..outputs import TOOLS
from ..tiny_models import TEMPLATE

USER = {"role": "user", "content": "Hello"}
PROMPT = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"


@pytest.fixture
def make(scripted: Any, byte_tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(byte_tokenizer, "chat_template", TEMPLATE)
    return lambda prompt, answer, **options: StreamGenerator(
        scripted({PROMPT + prompt: answer}).model, byte_tokenizer, format="qwen3", **options
    )


@pytest.mark.parametrize("backend", ["native", "transformers"])
def test_the_result_has_only_what_is_new(make: Any, backend: str) -> None:
    begun = [USER, {"role": "assistant", "content": "It is"}]
    result = make("It is", " 18.", backend=backend).generate(begun, prefill=True)
    assert (result.text, result.reasoning, result.finish_reason) == (" 18.", "", "stop")
    result = make("<think>\nHm", ", so.\n</think>\n\nYes.", backend=backend).generate(
        USER, prefill="<think>\nHm"
    )
    assert (result.text, result.reasoning) == ("Yes.", ", so.")


def test_generate(make: Any) -> None:
    generator = make("It is", " 18.")
    stream = unspool.generate(
        generator.model, generator.tokenizer, [USER, {"role": "assistant", "content": "It is"}],
        format="qwen3", prefill=True,
    )  # fmt: skip
    assert "".join(delta.text or "" for delta in stream) == " 18."


def test_a_prompt_with_its_beginning_is_counted(make: Any) -> None:
    generator = make("", "")
    begun = [USER, {"role": "assistant", "content": "It is"}]
    ids = generator.tokenize(begun, prefill=True)
    assert generator.tokenizer.decode(ids) == PROMPT + "It is"
    assert generator.count_tokens(begun, prefill=True) == len(ids)
    assert generator.tokenize([USER], prefill="It is") == ids


@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        ("Hello", {"prefill": "It"}, "prefill goes with messages"),
        ([1, 2], {"prefill": True}, "prefill goes with messages"),
        ([USER], {"prefill": True}, "must be the assistant's"),
        ([USER], {"prefill": "It", "tools": TOOLS, "tool_choice": "required"}, "leave one out"),
        ([USER], {"prefill": "{", "response_format": {"type": "json_object"}}, "leave one out"),
    ],
)
def test_what_cannot_be_begun_raises_at_the_call(make: Any, prompt: Any, options: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make("", "").stream(prompt, **options)


def test_a_prefill_of_another_type(make: Any) -> None:
    with pytest.raises(TypeError, match="prefill is of type int; pass a bool or a text"):
        make("", "").stream([USER], prefill=128)
