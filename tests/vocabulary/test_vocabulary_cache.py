"""A tokenizer is compiled once, anew when it has changed, and its vocabulary dies with it."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest
import unspool
from unspool import Vocabulary
from unspool.core.vocabulary import vocabulary_sources

tokenizers = pytest.importorskip("tokenizers")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one each time that a tokenizer is compiled."""
    count: list[int] = []
    compile_tokenizer = vocabulary_sources._from_hugging_face

    def compile_and_count(tokenizer: Any) -> Vocabulary:
        count.append(1)
        return compile_tokenizer(tokenizer)

    monkeypatch.setattr(vocabulary_sources, "_from_hugging_face", compile_and_count)
    return count


def a_tokenizer() -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1, "\u0120": 2}, []))
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens(["<tool_call>", "</tool_call>"])
    return made


class Wrapper:
    """As transformers has one around it."""

    def __init__(self, inner: Any) -> None:
        self.backend_tokenizer = inner


def test_streams_of_one_tokenizer_compile_it_once(compiled: list[int]) -> None:
    tokenizer = a_tokenizer()
    for source in (tokenizer, tokenizer, Wrapper(tokenizer)):
        streamer = unspool.TokenStreamer(source, "hermes")
        assert [delta.text for delta in streamer.put([0, 2, 1])] == ["a b"]
        unspool.Detokenizer(source).put([0])
    assert len(compiled) == 1


def test_another_tokenizer_is_another_vocabulary(compiled: list[int]) -> None:
    first, second = a_tokenizer(), a_tokenizer()
    assert Vocabulary.from_tokenizer(first) is not Vocabulary.from_tokenizer(second)
    assert len(compiled) == 2


def changed(tokenizer: Any, change: str) -> None:
    if change == "a token is added":
        tokenizer.add_tokens(["<new>"])
    elif change == "an added token becomes special":
        tokenizer.add_special_tokens(["<plain>"])
    elif change == "another decoder":
        tokenizer.decoder = tokenizers.decoders.Fuse()
    elif change == "no decoder":
        tokenizer.decoder = None
    elif change == "another model":
        tokenizer.model = tokenizers.models.BPE({"a": 0, "b": 1, "c": 2, "d": 3}, [])


@pytest.mark.parametrize(
    "change",
    [
        "a token is added",
        "an added token becomes special",
        "another decoder",
        "no decoder",
        "another model",
    ],
)
def test_a_changed_tokenizer_is_compiled_anew(change: str, compiled: list[int]) -> None:
    tokenizer = a_tokenizer()
    tokenizer.add_tokens(["<plain>"])
    wrapper = Wrapper(tokenizer)
    before = Vocabulary.from_tokenizer(wrapper)
    changed(tokenizer, change)
    after = Vocabulary.from_tokenizer(wrapper)
    assert after.to_bytes() != before.to_bytes()
    assert Vocabulary.from_tokenizer(wrapper) is after
    assert len(compiled) == 2


def test_a_dead_tokenizer_frees_its_vocabulary() -> None:
    tokenizer = a_tokenizer()
    vocabulary = weakref.ref(Vocabulary.from_tokenizer(tokenizer))
    gc.collect()
    assert vocabulary() is not None
    del tokenizer
    gc.collect()
    assert vocabulary() is None
    assert not [entry for entry in vocabulary_sources._cache._entries.values() if entry.owner() is None]


def test_what_cannot_be_referenced_weakly_is_compiled_each_time() -> None:
    class Slotted:
        __slots__ = ("n_words", "num_special_tokens")
        __module__ = "somewhere"

        def __init__(self) -> None:
            self.n_words, self.num_special_tokens = 3, 1

        def id_to_byte_piece(self, id: int) -> bytes:
            return bytes([96 + id])

        def vocab(self) -> list[str]:
            return ["<s>", "a", "b"]

    Slotted.__name__ = "Tekkenizer"
    tokenizer = Slotted()
    first, second = Vocabulary.from_tokenizer(tokenizer), Vocabulary.from_tokenizer(tokenizer)
    assert first is not second
    assert first.to_bytes() == second.to_bytes()
    wrapper = Wrapper(tokenizer)  # which can, and holds it
    assert Vocabulary.from_tokenizer(wrapper) is Vocabulary.from_tokenizer(wrapper)


def test_streams_that_start_together_compile_once(compiled: list[int]) -> None:
    tokenizer = a_tokenizer()
    barrier = threading.Barrier(8)
    found: list[Vocabulary] = []

    def start() -> None:
        barrier.wait()
        found.append(Vocabulary.from_tokenizer(tokenizer))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled) == 1
    assert len({id(vocabulary) for vocabulary in found}) == 1
