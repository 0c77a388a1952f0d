"""flush_tokens: ids are parsed together, and the text is the same."""

from __future__ import annotations

from typing import Any

import pytest
from unspool import ArgumentError, StreamGenerator, TokenStreamer

from .helpers import BACKENDS

PROMPT = "Tell me."
ANSWER = "ok 👩‍👩‍👧 naïve <think>hm</think> done"


@pytest.fixture
def puts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many ids each call of a token streamer had."""
    counts: list[int] = []
    put = TokenStreamer.put

    def counted(self: TokenStreamer, ids: Any) -> Any:
        counts.append(len(ids) if isinstance(ids, list) else 0)
        return put(self, ids)

    monkeypatch.setattr(TokenStreamer, "put", counted)
    return counts


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("count", [1, 2, 3, 16, 1000])
def test_the_text_is_the_same(
    scripted: Any, byte_tokenizer: Any, puts: list[int], backend: Any, count: int
) -> None:
    model = scripted({PROMPT: ANSWER}).model
    generator = StreamGenerator(model, byte_tokenizer, format="qwen3", backend=backend)
    expected = generator.generate(PROMPT)
    total = len(expected.token_ids)
    puts.clear()
    result = generator.generate(PROMPT, flush_tokens=count)
    assert (result.text, result.reasoning) == (expected.text, expected.reasoning)
    assert result.token_ids == expected.token_ids
    sizes = [size for size in puts if size]
    assert sizes == [count] * (total // count) + [total % count] * (total % count > 0)


def test_a_stop_string_is_seen_at_once(scripted: Any, byte_tokenizer: Any) -> None:
    model = scripted({PROMPT: "abcSTOPdefghijkl"})
    result = StreamGenerator(model.model, byte_tokenizer).generate(PROMPT, stop="STOP", flush_tokens=1000)
    assert (result.text, result.stop_reason, len(result.token_ids)) == ("abc", "STOP", 7)


def test_old_ids_do_not_wait(scripted: Any, byte_tokenizer: Any, puts: list[int]) -> None:
    model = scripted({PROMPT: "abcdef"})
    result = StreamGenerator(model.model, byte_tokenizer).generate(
        PROMPT, flush_tokens=1000, flush_ms=0.000001
    )
    assert result.text == "abcdef"
    assert max(puts) <= 2


def test_what_came_before_an_error_is_emitted(scripted: Any, byte_tokenizer: Any) -> None:
    model = scripted({PROMPT: "abcdef"})

    def fail(_: str, step: int) -> None:
        if step == 3:
            raise MemoryError("no room")

    model.before_step = fail
    stream = StreamGenerator(model.model, byte_tokenizer).stream(PROMPT, flush_tokens=1000)
    assert next(stream).text == "abc"
    with pytest.raises(MemoryError):
        list(stream)


@pytest.mark.parametrize("options", [{"flush_tokens": 0}, {"flush_ms": -1}])
def test_bad_values_raise_at_the_call(llama: Any, byte_tokenizer: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="flush_"):
        StreamGenerator(llama, byte_tokenizer).stream(PROMPT, **options)
