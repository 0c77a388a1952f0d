"""A vocabulary as bytes: read again, it is the same vocabulary; damaged bytes are an error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unspool import Detokenizer, Vocabulary, VocabularyError


def test_read_again_it_gives_the_same_text(real_tokenizer: Any) -> None:
    vocabulary = real_tokenizer.vocabulary
    data = vocabulary.to_bytes()
    again = Vocabulary.from_bytes(data)
    assert again.to_bytes() == data
    assert len(again) == len(vocabulary)
    assert again.added_tokens == vocabulary.added_tokens
    ids = real_tokenizer.encode("Zürich, 東京 🙂 isn't <b>bold</b>\n\n  x = 1\t")
    ids += [id for id in vocabulary.added_tokens if id < len(vocabulary)][:20]
    for skip in (True, False):
        texts = []
        for made in (vocabulary, again):
            detokenizer = Detokenizer(made, skip_special_tokens=skip)
            texts.append(detokenizer.put(ids) + detokenizer.end())
        assert texts[0] == texts[1]


def test_a_file_of_it_is_read_as_a_tokenizer(tmp_path: Any, deepseek: Any) -> None:
    path = tmp_path / "model.vocabulary"
    path.write_bytes(deepseek.vocabulary.to_bytes())
    assert Vocabulary.from_file(path).to_bytes() == path.read_bytes()


SMALL = Vocabulary({b"a": 0, b"\xc3": 1}, [(3, "<x>", "<x>", True)], is_bytes=True).to_bytes()


@given(cut=st.integers(0, len(SMALL) - 1))
def test_a_cut_file_is_refused(cut: int) -> None:
    with pytest.raises(VocabularyError):
        Vocabulary.from_bytes(SMALL[:cut])


@given(data=st.binary(max_size=200))
def test_bytes_of_any_kind_are_no_crash(data: bytes) -> None:
    for damaged in (data, SMALL[:16] + data, SMALL + data[:1]):
        try:
            Detokenizer(Vocabulary.from_bytes(damaged)).put(range(4))
        except VocabularyError:
            continue
