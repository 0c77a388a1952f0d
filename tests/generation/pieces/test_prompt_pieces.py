"""iter_prompt_token_pieces: joined, its pieces are the ids of the whole text, on every kind of tokenizer."""

from __future__ import annotations

import functools
import random
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE, Unigram, WordPiece
from tokenizers.trainers import BpeTrainer, UnigramTrainer, WordPieceTrainer
from transformers import PreTrainedTokenizerFast
from unspool.generation.prompts.pieces.cut_points import CutFinder
from unspool.generation.prompts.pieces.pieces import iter_prompt_token_pieces

from ..helpers import encode_whole, join_pieces

STRINGS = 1500  # for each tokenizer
PROSE = (
    "The weather in Zürich is mild today, and it's about 21 degrees. She said: “don't go there!” Then we'll see. "
    "Größe, naïve café, déjà vu; Straße. 東京の天気は晴れです。今日は何をしますか？ 你好，世界。مرحبا بالعالم كيف حالك اليوم "
    "def main(arguments):\n    return [index ** 2 for index in range(10) if index % 2 == 0]\n\n"
    '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\tПогода в Москве хорошая. हिन्दी में मौसम '
)
SPECIALS = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<mask>", "[SEP]", "<unk>"]
NORMALIZED = ["<tool>", "Foo", "  ", "    ", "®", "ﬁn"]
ATOMS = [
    *SPECIALS, *NORMALIZED, "<|im_", "start|>", "<s", "＜s＞", "＜ｔｏｏｌ＞", "<TOOL>", "foo", "FOO", "<|im_start|><|im_end|>",
    "<｜User｜>", "<｜end▁of▁sentence｜>", "<think>", "fin", "(R)", "▁", "▁▁", "▁a", "tok", "word", "wordword",
    " ", " ", " ", "  ", "   ", " " * 9, " " * 40, "\n", "\n\n", "\n\n\n", "\r\n", "\t", "\t\t", "\n    ", "\u3000", "\u00a0",
    "\x1c", "\x85", "\u200b", "\ufeff", "\u00ad", "\u2028",
    "a", "b", "the", " the", " and", "Hello", " World", "don't", "'s", "'ll", " it's", "İ", "ß", "ſ", "Σ", "ΟΔΟΣ",
    "\u0301", "e\u0301", "\u0308\u0301", "o\u0323\u0302", "각", "ᄀ", "ᅡ", "ᆨ", "क्षि", "กำ", "ﷺ", "ﬁ", "Å", "½", "①", "２",
    "👩‍👩‍👧", "🇨🇭", "🇨", "👍🏽", "😀", "\u200d", "\ufe0f", "中文", "。", "，", "字", "東京", "は", "ア", "مرحبا", " بالعالم", "؟", "שלום",
    "0", "1", "12", "123", "1234567", " 3", "3.14", "1,000", ".", ",", "!", "?!", "...", " (", ")", "[", "]", "{", "}", "_", "-", "--",
    "def f(x):\n    return x", "x = {'a': 1}", "a_b", "camelCase", "https://x.org/?q=1", "\\n", "\x00", "x" * 60, "ab" * 150,
]  # fmt: skip

GPT2 = Regex(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
QWEN = Regex(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = Regex(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PAIRS = Regex(r"\w+ \w+|\s|[^\w\s]+|\w+")  # splits by the count of words: no local look shows it


def _special(content: str, **flags: bool) -> AddedToken:
    return AddedToken(content, **{"normalized": False, "special": True, **flags})


def _finish(tokenizer: Tokenizer, *tokens: AddedToken) -> Tokenizer:
    tokenizer.add_special_tokens([_special(content) for content in SPECIALS[:4]])
    tokenizer.add_tokens([AddedToken(content, special=False, normalized=True) for content in NORMALIZED[:2]])
    tokenizer.add_tokens(list(tokens))
    return tokenizer


def _bpe(
    normalizer: Any, pre_tokenizer: Any, *tokens: AddedToken, bytes_in: bool = True, **options: Any
) -> Tokenizer:
    """A small BPE: over bytes shown as characters, or over characters with a byte for each unknown one."""
    tokenizer = Tokenizer(BPE(unk_token=None if bytes_in else "<unk>", byte_fallback=not bytes_in, **options))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    fallback = [] if bytes_in else ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    alphabet = pre_tokenizers.ByteLevel.alphabet() if bytes_in else []
    trainer = BpeTrainer(
        vocab_size=900, show_progress=False, special_tokens=fallback, initial_alphabet=alphabet
    )
    texts = PROSE.split(". ") if pre_tokenizer is None else [PROSE] * 3
    tokenizer.train_from_iterator(texts, trainer)
    return _finish(Tokenizer.from_str(_without_added(tokenizer)), *tokens)


def _without_added(tokenizer: Tokenizer) -> str:
    import json

    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = []
    return json.dumps(data)


def _byte_level(regex: Regex | None = None, normalizer: Any = None, *tokens: AddedToken) -> Tokenizer:
    steps: list[Any] = [pre_tokenizers.Split(regex, "isolated")] if regex else []
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=regex is None))
    return _bpe(normalizer, pre_tokenizers.Sequence(steps), *tokens)


def _unigram(normalizer: Any, pre_tokenizer: Any, *tokens: AddedToken) -> Tokenizer:
    tokenizer = Tokenizer(Unigram())
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    trainer = UnigramTrainer(vocab_size=400, show_progress=False, special_tokens=["<unk>"], unk_token="<unk>")
    tokenizer.train_from_iterator([PROSE] * 3, trainer)
    tokenizer.decoder = decoders.Metaspace()
    return _finish(Tokenizer.from_str(_without_added(tokenizer)), *tokens)


def _metaspace(scheme: str, *, split: bool = True, normalizer: Any = None) -> Tokenizer:
    return _unigram(normalizer, pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split))


def _charsmap() -> bytes:
    """T5's normalizer as SentencePiece writes it: NFKC by graphemes."""
    import io

    import sentencepiece

    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(PROSE.split()), model_writer=file, vocab_size=150, minloglevel=2
    )
    data = file.getvalue()
    # Field 3 of the model is the normalizer's; its field 2 holds the table, by far its longest.
    begin = data.index(b"\x0a\x08nmt_nfkc\x12") + 11
    size, shift = 0, 0
    while True:
        byte = data[begin]
        begin += 1
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return data[begin : begin + size]


def _t5() -> Tokenizer:
    steps = [
        normalizers.Precompiled(_charsmap()),
        normalizers.Strip(left=False, right=True),
        normalizers.Replace(Regex(" {2,}"), "▁"),
    ]
    return _metaspace("always", normalizer=normalizers.Sequence(steps))


def _gemma() -> Tokenizer:
    normalizer = normalizers.Replace(" ", "▁")
    runs = [AddedToken(text, normalized=False) for text in ("\n\n", "\n\n\n", "▁▁", "▁▁▁", "\t\t")]
    return _bpe(
        normalizer, pre_tokenizers.Split(" ", "merged_with_previous"), *runs, bytes_in=False, fuse_unk=True
    )


def _llama2() -> Tokenizer:
    normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return _bpe(normalizer, None, bytes_in=False, fuse_unk=True)


def _bert() -> Tokenizer:
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = WordPieceTrainer(vocab_size=500, show_progress=False, special_tokens=["[UNK]"])
    tokenizer.train_from_iterator([PROSE] * 3, trainer)
    tokenizer = _finish(Tokenizer.from_str(_without_added(tokenizer)), _special("[SEP]"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A [SEP]",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("<s>", "[SEP]")],
    )
    return tokenizer


def _stripping() -> Tokenizer:
    """Added tokens that take spaces with them or want to stand alone, in both lists."""
    return _byte_level(
        QWEN, None,
        _special("<mask>", lstrip=True), _special("[SEP]", rstrip=True), _special("tok", single_word=True),
        AddedToken("the", single_word=True, normalized=True), AddedToken("®", lstrip=True, rstrip=True, normalized=True),
        AddedToken("word", single_word=True, lstrip=True, normalized=False),
    )  # fmt: skip


def _late_normalizer() -> Tokenizer:
    """Added before there was a normalizer: releases differ in what they then look for."""
    tokenizer = _byte_level(GPT2)
    tokenizer.normalizer = normalizers.Lowercase()
    return tokenizer


def _specials_as_text() -> Tokenizer:
    tokenizer = _byte_level(QWEN)
    tokenizer.encode_special_tokens = True
    return tokenizer


def _space_runs() -> Tokenizer:
    return _byte_level(None, None, *(AddedToken(" " * count, normalized=True) for count in range(2, 9)))


def _fast(name: str, **options: Any) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(load(name).to_str()), **options)


NFKC_RUNS = [AddedToken(content, normalized=True) for content in NORMALIZED]
MAKERS: dict[str, Callable[[], Any]] = {
    "gpt2": _byte_level,
    "gpt2-prefix-space": lambda: _bpe(None, pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "qwen": lambda: _byte_level(QWEN, normalizers.NFC()),
    "llama3": lambda: _byte_level(LLAMA3),
    "gemma": _gemma,
    "llama2": _llama2,
    "t5": _t5,
    "metaspace-always": lambda: _metaspace("always", normalizer=normalizers.NFKC()),
    "metaspace-first": lambda: _metaspace("first"),
    "metaspace-never": lambda: _metaspace("never"),
    "metaspace-first-unsplit": lambda: _metaspace("first", split=False),
    "bert": _bert,
    "digits-punctuation": lambda: _bpe(
        None,
        pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation(), pre_tokenizers.ByteLevel(False)]
        ),
    ),
    "nfkc-strip": lambda: _byte_level(
        GPT2, normalizers.Sequence([normalizers.NFKC(), normalizers.Strip(), normalizers.Lowercase()]), *NFKC_RUNS[4:]
    ),
    "collapsed-spaces": lambda: _byte_level(GPT2, normalizers.Replace(Regex(r"\s+"), " "), *NFKC_RUNS),
    "byte-level-normalizer": lambda: _bpe(normalizers.ByteLevel(), pre_tokenizers.Split(Regex("Ġ?[a-zA-Z]+|[^a-zA-Z]+"), "isolated")),
    "word-pairs": lambda: _byte_level(PAIRS),
    "stripping": _stripping,
    "space-runs": _space_runs,
    "late-normalizer": _late_normalizer,
    "specials-as-text": _specials_as_text,
    "no-parts": lambda: _bpe(None, None, bytes_in=False),
    "fast-qwen": lambda: _fast("qwen", eos_token="<|im_end|>"),
    "fast-llama2": lambda: _fast("llama2", bos_token="<s>"),
    "fast-t5": lambda: _fast("t5", eos_token="</s>"),
    "fast-specials-as-text": lambda: _fast("qwen", split_special_tokens=True),
}  # fmt: skip


@functools.cache
def load(name: str) -> Any:
    return MAKERS[name]()


@pytest.fixture(params=["deepseek", "fast-deepseek", *MAKERS])
def tokenizer(request: pytest.FixtureRequest, deepseek: Any) -> Any:
    if request.param == "deepseek":
        return deepseek.tokenizer
    if request.param == "fast-deepseek":
        return PreTrainedTokenizerFast(tokenizer_object=deepseek.tokenizer)
    return load(request.param)


def random_strings(seed: int, count: int) -> Iterator[tuple[str, int, int]]:
    """Texts, with a size of pieces and of batches: short ones first, words among them so that cuts happen."""
    randomly = random.Random(seed)
    words = PROSE.split(" ")
    for _ in range(count):
        atoms = [
            randomly.choice(ATOMS) if randomly.random() < 0.6 else " " + randomly.choice(words)
            for _ in range(randomly.choice((1, 3, 8, 30, 60)))
        ]
        yield "".join(atoms), randomly.choice((1, 1, 5, 20, 100)), randomly.choice((1, 2, 8))


@pytest.mark.rest(but_one_in=14)
def test_the_pieces_join_to_the_ids_of_the_whole(tokenizer: Any) -> None:
    for text, piece_chars, batch_size in random_strings(1, STRINGS):
        pieces = iter_prompt_token_pieces(tokenizer, text, piece_chars=piece_chars, batch_size=batch_size)
        assert join_pieces(pieces) == encode_whole(tokenizer, text), (text, piece_chars)


def words_only(count: int) -> str:
    """Nothing in it lets a pre-tokenizer that counts words begin to count anew."""
    randomly = random.Random(2)
    return " ".join(randomly.choice(("red", "green", "blue", "ein", "Wort", "été")) for _ in range(count))


def chat(turn_count: int) -> str:
    return "<s>" + "".join(
        f"<|im_start|>user\n{PROSE} {turn}<|im_end|>\n<|im_start|>assistant\n<|im_end|>"
        for turn in range(turn_count)
    )


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("text", [words_only(4000), PROSE * 40, chat(30)], ids=["words", "prose", "chat"])
def test_long_texts(tokenizer: Any, text: str) -> None:
    expected = encode_whole(tokenizer, text)
    for piece_chars in (50, 333, 1024, len(text) - 1, len(text)):
        assert join_pieces(iter_prompt_token_pieces(tokenizer, text, piece_chars=piece_chars)) == expected


# No pre-tokens in plain text; or a normalizer that strips the spaces at which words are cut.
UNCUT = ("gemma", "llama2", "metaspace-first-unsplit", "no-parts", "fast-llama2", "nfkc-strip")


@pytest.mark.parametrize("name", MAKERS)
def test_cuts_happen(name: str) -> None:
    text = words_only(4000)
    pieces = list(iter_prompt_token_pieces(load(name), text, piece_chars=500))
    if name in UNCUT:
        assert len(pieces) == 1
    else:
        assert len(pieces) > len(text) / 1000
    # Before an added token every text can be cut.
    turns = list(iter_prompt_token_pieces(load(name), chat(60), piece_chars=500))
    assert len(turns) > 30


def test_pieces_of_other_scripts_and_code(deepseek: Any) -> None:
    for text in (
        "東京の天気は晴れです。" * 500,
        "你好，世界\n" * 800,
        "  x = {'a': [1, 2]}\n" * 300,
        "3.14,2.72\n" * 400,
    ):
        pieces = list(iter_prompt_token_pieces(deepseek.tokenizer, text, piece_chars=200))
        assert len(pieces) > len(text) / 400
        assert join_pieces(iter(pieces)) == encode_whole(deepseek.tokenizer, text)


class Counting:
    """A tokenizer's parts, with the characters that they were given."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer, self.count = tokenizer, 0
        self.normalizer = self
        self.pre_tokenizer = None if tokenizer.pre_tokenizer is None else self
        self.get_added_tokens_decoder, self.encode = tokenizer.get_added_tokens_decoder, tokenizer.encode

    def normalize_str(self, text: str) -> str:
        self.count += len(text)
        normalizer = self.tokenizer.normalizer
        return text if normalizer is None else normalizer.normalize_str(text)

    def pre_tokenize_str(self, text: str) -> Any:
        self.count += len(text)
        return self.tokenizer.pre_tokenizer.pre_tokenize_str(text)


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize(
    "unit",
    [
        PROSE,
        "x",
        " ",
        "a b ",
        "a <mask> b",
        "字。",
        "👩‍👩‍👧",
        "1,",
        "<s>",
        "<|im_start|>a b<|im_end|>\n",
        "\n\n\n a",
    ],
)
@pytest.mark.parametrize(
    "name", ["qwen", "gemma", "llama2", "t5", "word-pairs", "stripping", "collapsed-spaces", "no-parts"]
)
def test_the_search_for_cuts_is_linear(name: str, unit: str) -> None:
    for length in (20_000, 100_000):
        parts = Counting(load(name))
        text = unit * (length // len(unit))
        assert "".join(CutFinder(parts).split(text, 1024)) == text
        assert parts.count < 16 * length


def test_added_tokens_are_found_fast_however_many_there_are() -> None:
    tokenizer = Tokenizer.from_str(load("qwen").to_str())
    tokenizer.add_tokens([AddedToken(f"<unused{number}>", normalized=False) for number in range(6000)])
    text = "<p>a b</p>" * 3000 + "<unused77>" + "<unused5999>x <unused6000>" * 10
    pieces = list(iter_prompt_token_pieces(tokenizer, text, piece_chars=500))
    assert len(pieces) > 40
    assert join_pieces(iter(pieces)) == encode_whole(tokenizer, text)


@pytest.mark.parametrize("form", ["<s>", "＜s＞", "<TOOL>", "<tool>", "<|im_start|>"])
def test_no_cut_goes_through_an_added_token(form: str) -> None:
    for name in MAKERS:
        text = f"a b {form} c d " * 10 + form * 3
        assert join_pieces(iter_prompt_token_pieces(load(name), text, piece_chars=1)) == encode_whole(
            load(name), text
        )


def test_an_empty_text_has_no_pieces(tokenizer: Any) -> None:
    assert list(iter_prompt_token_pieces(tokenizer, "")) == []


def test_the_atoms_hold_what_they_should() -> None:
    joined = "".join(ATOMS)
    assert unicodedata.normalize("NFC", joined) != joined != unicodedata.normalize("NFKC", joined)
    assert unicodedata.normalize("NFKC", "＜s＞") == "<s>"
