"""A tokenizer's own template is meant by "hf", "response_template" and "auto"."""

from __future__ import annotations

from typing import Any

import pytest
import unspool
from unspool.formats.choose_format import TEMPLATE_NAMES

TEMPLATE = {
    "start_anchor": "<|assistant|>",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "content": {},
        "tool_calls": {
            "open": "<call>",
            "close": "</call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
    },
}
TEXT = '<think>Hm.</think>Hi.<call>{"name": "f", "arguments": {"a": 1}}</call>'


class Tokenizer:
    """As much of one as a template needs, around a vocabulary of bytes."""

    response_template = TEMPLATE
    chat_template = "<tool_call>{{ x }}<function= <parameter="

    def __init__(self) -> None:
        self.vocabulary = unspool.Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)


@pytest.fixture(autouse=True)
def _vocabulary_of(monkeypatch: pytest.MonkeyPatch) -> None:
    import unspool.core.vocabulary.vocabulary_sources as module

    real = module.from_tokenizer
    monkeypatch.setattr(module, "from_tokenizer", lambda source: real(getattr(source, "vocabulary", source)))


@pytest.mark.parametrize("name", [*TEMPLATE_NAMES, "auto", "HF"])
def test_the_template_is_used(name: str) -> None:
    tokenizer = Tokenizer()
    message = unspool.TokenStreamer(tokenizer, name).parse(list(TEXT.encode()))
    assert (message.reasoning, message.content) == ("Hm.", "Hi.")
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("f", '{"a": 1}')]


@pytest.mark.parametrize("name", [*TEMPLATE_NAMES, "auto"])
def test_without_a_tokenizer_the_message_says_what_to_do(name: str) -> None:
    with pytest.raises(unspool.ArgumentError, match="pass tokenizer="):
        unspool.Parser(name)


def test_a_tokenizer_that_does_not_show_its_format(deepseek: Any) -> None:
    with pytest.raises(unspool.ArgumentError, match="response_template"):
        unspool.Parser("hf", tokenizer=deepseek.tokenizer)
