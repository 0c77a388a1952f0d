"""Every kind of decoder that is compiled, against the library's own decode."""

from __future__ import annotations

import random
from typing import Any

import pytest
from unspool import Detokenizer, SlowDetokenizer, Vocabulary, VocabularyError

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed; pip install tokenizers")
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers  # noqa: E402

SPACE = "\u2581"
WORDS = [
    f"{SPACE}the", f"{SPACE}{SPACE}x", SPACE, "ing", "a", "é", "世", "\n", f"a{SPACE}b",
    "##ed", "don", "'t", "n't", ".", ",", "!", "do", "not", "'", "re</w>", "lo", "w</w>", "</w>",
    "\ufffd", "  ", " ", "x ",
]  # fmt: skip
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def build(decoder: Any, words: list[str], added: list[AddedToken] | None = None) -> Tokenizer:
    vocabulary = {word: id for id, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=words[0]))
    if decoder is not None:
        tokenizer.decoder = decoder
    tokenizer.add_special_tokens([AddedToken("<s>", special=True), AddedToken("<|end|>", special=True)])
    tokenizer.add_tokens(added or [AddedToken("<tool>", normalized=False)])
    return tokenizer


def llama(*extra: Any) -> Any:
    steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), *extra]
    return decoders.Sequence(steps)


DECODERS: dict[str, Any] = {
    "byte_fallback": (llama(), WORDS + BYTES),
    "byte_fallback_strip": (llama(decoders.Strip(" ", 1, 0)), WORDS + BYTES),
    "strip_both_ends": (llama(decoders.Strip(" ", 2, 0), decoders.Fuse()), WORDS + BYTES),
    "metaspace_always": (decoders.Metaspace(SPACE, "always"), WORDS),
    "metaspace_first": (decoders.Metaspace(SPACE, "first"), WORDS),
    "metaspace_never": (decoders.Metaspace(SPACE, "never"), WORDS),
    "word_piece": (decoders.WordPiece("##", cleanup=False), WORDS),
    "word_piece_cleanup": (decoders.WordPiece("##", cleanup=True), WORDS),
    "bpe_suffix": (decoders.BPEDecoder("</w>"), WORDS),
    "no_decoder": (None, WORDS),
    "fuse": (decoders.Fuse(), WORDS),
    "replace": (decoders.Replace(SPACE, "_"), WORDS),
    "local_strip": (decoders.Sequence([decoders.Strip("a", 1, 0), decoders.Fuse()]), WORDS),
    "sequence_of_one": (decoders.Sequence([decoders.Metaspace()]), WORDS),
}


def is_well_formed(tokens: list[str]) -> bool:
    """Whether every run of byte tokens is valid UTF-8, so that exact and eager agree."""
    run = b""
    for token in [*tokens, ""]:
        if token in BYTES:
            run += bytes([BYTES.index(token)])
            continue
        try:
            run.decode()
        except UnicodeDecodeError:
            return False
        run = b""
    return True


@pytest.mark.parametrize("name", list(DECODERS))
def test_stream_is_decode(name: str) -> None:
    decoder, words = DECODERS[name]
    tokenizer = build(decoder, words)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    rng = random.Random(name)
    count = tokenizer.get_vocab_size()
    for number in range(3000):
        ids = [rng.randrange(count + 2) for _ in range(rng.randint(0, 9))]
        if number % 3 == 0:  # mostly words, so that runs of bytes are short
            ids = [id if id >= count or id < len(WORDS) else rng.randrange(len(WORDS)) for id in ids]
        for skip in (True, False):
            expected = tokenizer.decode(ids, skip_special_tokens=skip)
            exact = Detokenizer(vocabulary, skip, exact=True)
            assert "".join(exact.put(id) for id in ids) + exact.end() == expected, ids
            tokens = [tokenizer.id_to_token(id) for id in ids if tokenizer.id_to_token(id)]
            shown = [token for token in tokens if not (skip and token in ("<s>", "<|end|>"))]
            if is_well_formed(shown):
                eager = Detokenizer(vocabulary, skip)
                assert eager.put(ids) + eager.end() == expected, ids


def test_eager_keeps_valid_characters_and_replaces_each_invalid_byte() -> None:
    tokenizer = build(llama(), WORDS + BYTES)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    byte = lambda *values: [tokenizer.token_to_id(BYTES[value]) for value in values]  # noqa: E731
    cases = {
        "€\ufffd": byte(0xE2, 0x82, 0xAC, 0xFF),
        "\ufffd\ufffd": byte(0xE2, 0x82),
        "\n\ufffd": byte(0x0A, 0xFF),
        "\ufffd\ufffda": [*byte(0xE2, 0x82), tokenizer.token_to_id("a")],
        "\ufffdà": byte(0x80, 0xC3, 0xA0),
    }
    for expected, ids in cases.items():
        detokenizer = Detokenizer(vocabulary)
        assert "".join(detokenizer.put(id) for id in ids) + detokenizer.end() == expected
    detokenizer = Detokenizer(vocabulary)
    assert detokenizer.put(byte(0x0A)) == "\n"  # at once; exact waits for the next token
    exact = Detokenizer(vocabulary, exact=True)
    assert exact.put(byte(0x0A)) == ""
    assert exact.end() == "\n"


def test_normalized_added_tokens_decode_as_the_library_does() -> None:
    tokenizer = build(llama(), WORDS + BYTES, [AddedToken("<foo>", normalized=True)])
    tokenizer.normalizer = normalizers.Prepend(SPACE)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    ids = [4, tokenizer.token_to_id("<foo>"), 4]
    detokenizer = Detokenizer(vocabulary)
    assert detokenizer.put(ids) + detokenizer.end() == tokenizer.decode(ids)
    assert vocabulary.find_added("<foo>") == ids[1]


def test_file_and_live_tokenizer_agree(tmp_path: Any) -> None:
    for name, (decoder, words) in DECODERS.items():
        tokenizer = build(decoder, words)
        path = tmp_path / f"{name}.json"
        tokenizer.save(str(path))
        live, read = Vocabulary.from_tokenizer(tokenizer), Vocabulary.from_file(path)
        assert len(live) == len(read)
        assert all(live.token_bytes(id) == read.token_bytes(id) for id in range(len(live)))
        assert live.added_tokens == read.added_tokens


@pytest.mark.parametrize(
    ("decoder", "what"),
    [
        (decoders.CTC(), "CTC"),
        (decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()]), "ByteFallback"),
        (decoders.Sequence([decoders.Fuse(), decoders.Replace("a", "b")]), "joined"),
    ],
)
def test_what_cannot_be_compiled_says_so(decoder: Any, what: str) -> None:
    tokenizer = build(decoder, WORDS)
    with pytest.raises(VocabularyError, match=f"(?s){what}.*SlowDetokenizer"):
        Vocabulary.from_tokenizer(tokenizer)


def test_slow_detokenizer_asks_the_tokenizer() -> None:
    tokenizer = build(decoders.Sequence([decoders.Fuse(), decoders.Replace("a", "b")]), WORDS)
    rng = random.Random(5)
    for _ in range(200):
        ids = [rng.randrange(len(WORDS) - 5) for _ in range(40)]
        slow = SlowDetokenizer(tokenizer)
        assert "".join(slow.put(id) for id in ids) + slow.end() == tokenizer.decode(ids)
