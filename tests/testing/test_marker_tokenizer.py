"""Our small tokenizer reads and writes as Hugging Face's does with the same `tokenizer.json`."""

from __future__ import annotations

from pathlib import Path

import pytest
import unspool
from hypothesis import given
from hypothesis import strategies as st
from unspool.testing.marker_tokenizer import END, MarkerTokenizer, marker_tokenizer

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed; pip install tokenizers")
QWEN = marker_tokenizer(unspool.get_format("qwen3"))
MARKERS = [*unspool.get_format("qwen3").facts.marker_tokens, END]


@given(st.lists(st.sampled_from(MARKERS) | st.text(), max_size=8).map("".join))
def test_it_is_the_tokenizer_of_its_file(text: str) -> None:
    theirs = tokenizers.Tokenizer.from_str(QWEN.to_str())
    ids = QWEN.encode(text).ids
    assert ids == theirs.encode(text).ids
    for skips in (True, False):
        assert QWEN.decode(ids, skip_special_tokens=skips) == theirs.decode(ids, skip_special_tokens=skips)


@pytest.mark.parametrize("file", unspool.formats(), ids=lambda file: file.name)
def test_each_marker_is_one_token(file: unspool.FormatFile) -> None:
    tokenizer = marker_tokenizer(file)
    theirs = tokenizers.Tokenizer.from_str(tokenizer.to_str())
    assert tokenizer.get_vocab_size() == theirs.get_vocab_size() == len(tokenizer.vocabulary)
    for marker in (*file.facts.marker_tokens, END):
        assert tokenizer.encode(marker).ids == [tokenizer.token_to_id(marker)] == theirs.encode(marker).ids


def test_the_longest_token_counts_and_special_ones_are_skipped(tmp_path: Path) -> None:
    tokenizer = MarkerTokenizer(["<a", "<a>", "<a>"])
    assert tokenizer.get_vocab_size() == 258
    assert tokenizer.encode("<a><a").ids == [tokenizer.token_to_id("<a>"), tokenizer.token_to_id("<a")]
    tokenizer.add_special_tokens(["<a>", "new"])
    ids = tokenizer.encode("<a>new<a", add_special_tokens=False).ids
    assert tokenizer.decode(ids) == "<a"
    assert tokenizer.decode(ids, skip_special_tokens=False) == "<a>new<a"
    assert (tokenizer.token_to_id("new"), tokenizer.token_to_id("none")) == (258, None)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert len(unspool.Vocabulary.from_file(tmp_path / "tokenizer.json")) == 259
