"""What iter_prompt_token_pieces asks of a tokenizer, and the special tokens around a prompt."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from itertools import chain
from math import ceil
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import Tokenizer, processors
from transformers import PreTrainedTokenizerFast
from unspool import ArgumentError
from unspool.generation.prompts.pieces.encode import special_affixes
from unspool.generation.prompts.pieces.pieces import iter_prompt_ids, iter_prompt_token_pieces

from ..helpers import encode_whole, join_pieces

PROSE = "The weather in Zürich is mild today, and it's about 21 degrees. 東京の天気は晴れです。\n你好，世界 👩‍👩‍👧 "


@pytest.fixture(scope="module")
def copied(deepseek: Any) -> Callable[[], Tokenizer]:
    """A tokenizer that a test may change."""
    return functools.partial(Tokenizer.from_str, deepseek.tokenizer.to_str())


class Spy(PreTrainedTokenizerFast):
    """Writes down the texts of each call."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.calls: list[list[str]] = []

    def __call__(self, text: Any, **options: Any) -> Any:
        self.calls.append([text] if isinstance(text, str) else list(text))
        return super().__call__(text, **options)


@pytest.fixture
def spy(deepseek: Any) -> Spy:
    return Spy(tokenizer_object=deepseek.tokenizer)


def test_pieces_are_tokenized_in_batches(spy: Spy) -> None:
    text = PROSE * 300
    pieces = list(iter_prompt_token_pieces(spy, text, batch_size=8, piece_chars=200))
    assert len(pieces) > 100
    assert len(spy.calls) == ceil(len(pieces) / 8)
    assert "".join(chain.from_iterable(spy.calls)) == text


def test_no_more_is_tokenized_than_asked_for(spy: Spy) -> None:
    pieces = iter_prompt_token_pieces(spy, PROSE * 1000, batch_size=4, piece_chars=200)
    assert spy.calls == []
    next(pieces)
    assert len(spy.calls) == 1
    assert sum(map(len, spy.calls[0])) < 4 * 400
    for _ in range(3):
        next(pieces)
    assert len(spy.calls) == 1
    next(pieces)
    assert len(spy.calls) == 2


def test_a_tokenizers_state_from_an_earlier_call_is_reset(spy: Spy) -> None:
    spy.pad_token = "<｜end▁of▁sentence｜>"
    spy(["a b c", "a"], truncation=True, max_length=2, padding="max_length")
    text = PROSE * 10
    pieces = join_pieces(iter_prompt_token_pieces(spy, text, piece_chars=100))
    assert pieces == encode_whole(spy, text)
    assert len(pieces) > 100


def test_bad_arguments_raise_at_the_call(deepseek: Any) -> None:
    for options in ({"batch_size": 0}, {"piece_chars": 0}, {"piece_chars": -1}):
        with pytest.raises(ArgumentError, match="must be at least 1"):
            iter_prompt_token_pieces(deepseek.tokenizer, "a", **options)
        with pytest.raises(ArgumentError, match="must be at least 1"):
            iter_prompt_ids(deepseek.tokenizer, "a", add_special_tokens=True, **options)
    for options in ({"batch_size": True}, {"piece_chars": 1.0}):
        with pytest.raises(TypeError, match="must be an int"):
            iter_prompt_token_pieces(deepseek.tokenizer, "a", **options)
    with pytest.raises(TypeError, match="text must be a str"):
        iter_prompt_token_pieces(deepseek.tokenizer, b"a")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="lone surrogate at character 1"):
        iter_prompt_token_pieces(deepseek.tokenizer, "a\ud800")


def test_a_bare_tokenizer_that_truncates_or_pads_sees_the_whole_text(copied: Callable[[], Tokenizer]) -> None:
    text = PROSE * 3
    for change in (lambda t: t.enable_truncation(7), lambda t: t.enable_padding(length=900)):
        tokenizer = copied()
        change(tokenizer)
        for special in (False, True):
            pieces = iter_prompt_ids(tokenizer, text, add_special_tokens=special, piece_chars=10)
            assert join_pieces(pieces) == encode_whole(tokenizer, text, add_special_tokens=special)


class Own:
    """A tokenizer that streams by itself, and marks what its call gives."""

    pieces: tuple[Any, ...] = ([1, 2], [], (3,))

    def stream_tokenize_prompt(self, text: str) -> Iterator[Any]:
        assert text == "a text"
        return iter(self.pieces)

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        assert text
        return {"input_ids": [0, 1, 2, 3] if add_special_tokens else [1, 2, 3]}


def test_a_tokenizers_own_stream_is_honoured() -> None:
    assert list(iter_prompt_token_pieces(Own(), "a text")) == [[1, 2], [3]]
    assert list(iter_prompt_token_pieces(Own(), "a text", verify=True)) == [[1, 2], [3]]
    assert list(iter_prompt_ids(Own(), "a text", add_special_tokens=True)) == [[0], [1, 2], [3]]


def test_verify_yields_the_whole_instead_of_wrong_pieces() -> None:
    wrong = Own()
    wrong.pieces = ([1], [7, 3])
    assert list(iter_prompt_token_pieces(wrong, "a text")) == [[1], [7, 3]]
    assert list(iter_prompt_token_pieces(wrong, "a text", verify=True)) == [[1, 2, 3]]


def test_verify_changes_nothing_where_all_is_well(deepseek: Any) -> None:
    plain = list(iter_prompt_token_pieces(deepseek.tokenizer, PROSE * 10, piece_chars=100))
    assert (
        list(iter_prompt_token_pieces(deepseek.tokenizer, PROSE * 10, piece_chars=100, verify=True)) == plain
    )


class Slow:
    """Python all the way: each character is its code point, [1] before a text and [2] after it."""

    def __call__(self, text: str, add_special_tokens: bool = True) -> Any:
        ids = [ord(char) for char in text]
        return SimpleNamespace(input_ids=[1, *ids, 2] if add_special_tokens else ids)


class OnlyEncode:
    def __call__(self, text: str) -> Any:
        raise TypeError(f"no {text}, no options")

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return list(Slow()(text, add_special_tokens).input_ids)


class Plain:
    """Knows nothing of special tokens; its `encode` is another thing."""

    def __call__(self, text: str) -> dict[str, list[list[int]]]:
        return {"input_ids": [[ord(char) for char in text]]}


@pytest.mark.parametrize("make", [Slow, OnlyEncode])
def test_any_other_tokenizer_gives_one_piece(make: Callable[[], Any]) -> None:
    assert list(iter_prompt_token_pieces(make(), "a b", piece_chars=1)) == [[97, 32, 98]]
    assert list(iter_prompt_ids(make(), "a", add_special_tokens=True)) == [[1, 97, 2]]
    assert special_affixes(make()) == ([1], [2])
    assert list(iter_prompt_token_pieces(make(), "")) == []


def test_a_call_without_the_option_and_no_encode_is_an_error_that_says_so() -> None:
    with pytest.raises(TypeError, match="add_special_tokens"):
        list(iter_prompt_token_pieces(Plain(), "a"))
    assert special_affixes(Plain()) == ([], [])


BOS, EOS, USER = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>"
AROUND = [([BOS], []), ([], [EOS]), ([BOS, USER], [EOS, EOS]), ([], [])]


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(("before", "behind"), AROUND)
@pytest.mark.parametrize("is_fast", [True, False])
def test_special_affixes(
    copied: Callable[[], Tokenizer], before: list[str], behind: list[str], is_fast: bool
) -> None:
    tokenizer: Any = copied()
    around = [[tokenizer.token_to_id(name) for name in names] for names in (before, behind)]
    # With nothing to add, too: the tokenizer has a template of its own.
    tokenizer.post_processor = processors.TemplateProcessing(
        single=[*before, "$A", *behind],
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in {*before, *behind}],
    )
    if is_fast:
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    assert special_affixes(tokenizer) == tuple(around)
    for text in ("", " ", "a", BOS, PROSE, USER + PROSE + EOS):
        for special in (True, False):
            pieces = iter_prompt_ids(tokenizer, text, add_special_tokens=special, piece_chars=20)
            assert join_pieces(pieces) == encode_whole(tokenizer, text, add_special_tokens=special)


def test_affixes_of_a_text_spelled_with_them() -> None:
    """The unknown token is the first one: only a text of other ids shows which of two is the text's."""

    class Ambiguous(Slow):
        def __call__(self, text: str, add_special_tokens: bool = True) -> Any:
            ids = [1 if char == "a" else ord(char) for char in text]
            return SimpleNamespace(input_ids=[1, *ids] if add_special_tokens else ids)

    assert special_affixes(Ambiguous()) == ([1], [])


def test_affixes_that_no_text_explains() -> None:
    class Reversing(Slow):
        def __call__(self, text: str, add_special_tokens: bool = True) -> Any:
            ids = [ord(char) for char in text + "!"]
            return SimpleNamespace(input_ids=ids[::-1] if add_special_tokens else ids)

    with pytest.raises(ArgumentError, match="pass its ids"):
        special_affixes(Reversing())
    assert list(iter_prompt_ids(Reversing(), "ab", add_special_tokens=True)) == [[33, 98, 97]]


def test_a_prompt_beyond_the_models_length_is_not_cut_short(deepseek: Any) -> None:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=deepseek.tokenizer, model_max_length=16)
    text = PROSE * 5
    expected = list(deepseek.tokenizer.encode(text, add_special_tokens=False).ids)
    assert join_pieces(iter_prompt_token_pieces(tokenizer, text, piece_chars=100)) == expected
