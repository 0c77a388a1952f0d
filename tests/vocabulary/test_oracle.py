"""Stream plus flush is what the tokenizer's own decode gives: for texts, and for random ids."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from unspool import Detokenizer

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "Zürich, São Paulo, Ångström, Đà Nẵng",
    "Быстрая коричневая лиса",
    "敏捷的棕色狐狸跳过了懒狗。",
    "素早い茶色の狐が、のろまな犬を飛び越える。",
    "삼겹살과 김치찌개",
    "الثعلب البني السريع",
    "השועל החום המהיר",
    "तेज भूरी लोमड़ी",
    "สุนัขจิ้งจอกสีน้ำตาล",
    "Η γρήγορη καφέ αλεπού",
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇨🇭 e\u0301 \ufe0f",
    "def f(x):\n\treturn {'a': [1, 2.50], \"b\": None}  # ok\r\n\n\n    pass\n",
    "a  b   c    d\t\te\n\n\nf ",
    " leading and trailing ",
    "a literal \ufffd stands here \ufffd\ufffd",
    "<think> </tool_call> [TOOL_CALLS] <|im_end|>",
    "",
]


def groups(ids: list[int], rng: random.Random) -> Iterator[list[int]]:
    while ids:
        count = rng.randint(1, 6)
        yield ids[:count]
        ids = ids[count:]


def stream(detokenizer: Detokenizer, pieces: Any) -> str:
    return "".join([detokenizer.put(piece) for piece in pieces]) + detokenizer.end()


def every_way(vocabulary: Any, ids: list[int], rng: random.Random, skip: bool, **options: Any) -> set[str]:
    """The stream one id at a time, in random groups, all at once."""
    return {
        stream(Detokenizer(vocabulary, skip, **options), ways)
        for ways in (ids, list(groups(ids, rng)), [ids])
    }


@pytest.mark.parametrize("text", TEXTS)
def test_text_comes_back(real_tokenizer: Any, text: str) -> None:
    ids = real_tokenizer.encode(text)
    expected = real_tokenizer.decode(ids, True)
    assert every_way(real_tokenizer.vocabulary, ids, random.Random(1), True) == {expected}


def test_random_ids(real_tokenizer: Any) -> None:
    # Some tokenizers never show their special tokens; then there is one way to compare.
    for skip in (True, False) if real_tokenizer.has_skip else (True,):
        check_random_ids(real_tokenizer, skip)


def check_random_ids(real_tokenizer: Any, skip: bool) -> None:
    rng = random.Random(f"{real_tokenizer.name} {skip}")
    vocabulary = real_tokenizer.vocabulary
    count = real_tokenizer.size
    specials = list(vocabulary.added_tokens)
    # Tokens that hold parts of characters, so that characters are cut and mangled often.
    rough = [id for id in range(count) if _is_rough(vocabulary.token_bytes(id))] or specials
    unknown = [count + 5] if real_tokenizer.name == "deepseek" else specials
    for _ in range(10_000):
        ids = [
            rng.choice(rough)
            if (dice := rng.random()) < 0.35
            else rng.choice(specials)
            if dice < 0.42
            else rng.choice(unknown)
            if dice < 0.44
            else rng.randrange(count)
            for _ in range(rng.randint(1, 16))
        ]
        expected = real_tokenizer.decode(ids, skip)
        assert every_way(vocabulary, ids, rng, skip) == {expected}, ids


def _is_rough(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def test_never_more_than_three_bytes_are_held(real_tokenizer: Any) -> None:
    """What is certain comes at once: the text so far is all but an unfinished character."""
    rng = random.Random(3)
    vocabulary = real_tokenizer.vocabulary
    rough = [id for id in range(real_tokenizer.size) if _is_rough(vocabulary.token_bytes(id))]
    for _ in range(300):
        ids = [
            rng.choice(rough) if rng.random() < 0.5 and rough else rng.randrange(real_tokenizer.size)
            for _ in range(12)
        ]
        detokenizer = Detokenizer(vocabulary)
        so_far = ""
        for position, id in enumerate(ids):
            so_far += detokenizer.put(id)
            whole = real_tokenizer.decode(ids[: position + 1], True)
            # Only U+FFFD for the bytes held at the end may be missing: three at most.
            assert whole.startswith(so_far)
            assert len(whole) - len(so_far) <= 3
            assert set(whole[len(so_far) :]) <= {"\ufffd"}


def test_a_literal_replacement_character_is_not_delayed(real_tokenizer: Any) -> None:
    detokenizer = Detokenizer(real_tokenizer.vocabulary)
    text = "".join(detokenizer.put(id) for id in real_tokenizer.encode("a \ufffd"))
    assert text == "a \ufffd"
