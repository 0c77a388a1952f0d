"""AddedTokenMatcher finds added tokens where the `tokenizers` library does."""

from __future__ import annotations

import random
from itertools import product

import pytest
import tokenizers
from tokenizers.models import WordLevel
from unspool.generation.prompts.pieces.added_tokens import AddedTokenMatcher, read_added_tokens

CONTENTS = ["ab", "abc", "bc", "c", "<s>", "<s><s>", "\n\n", " x", "é", "[", "^"]
FLAGS = [
    dict(zip(("lstrip", "rstrip", "single_word"), bits, strict=True))
    for bits in product((False, True), repeat=3)
]
ATOMS = [
    *CONTENTS, "a", "b", "<s", "s>", ">", " ", "  ", "\n", "\t", "\x1c", "\u00a0", "\u200b", "\u2009", "\x85", "\u3000",
    "_", "-", "1", "²", "Ⅷ", "ⓐ", "🄰", "🅿", "\u0301", "\u200d", "\u203f", "字", "😀", "ª", "ः",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_the_parts_of_a_text_are_those_of_the_library(seed: int) -> None:
    randomly = random.Random(seed)
    tokenizer = tokenizers.Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    # Without a pre-tokenizer, each text between added tokens is one unknown word.
    tokens = []
    for content in randomly.sample(CONTENTS, randomly.randint(1, 8)):
        flags = dict(randomly.choice(FLAGS))
        # The library panics where such a token's own spaces were taken by the one before it.
        flags["lstrip"] &= not content[0].isspace()
        tokens.append(
            tokenizers.AddedToken(content, normalized=False, special=randomly.random() < 0.5, **flags)
        )
    tokenizer.add_tokens(tokens)
    tokenizer.encode_special_tokens = skips = randomly.random() < 0.3
    matcher = AddedTokenMatcher(read_added_tokens(tokenizer, skips_special_tokens=skips))
    for _ in range(200):
        text = "".join(randomly.choice(ATOMS) for _ in range(randomly.randint(1, 20)))
        encoding = tokenizer.encode(text, add_special_tokens=False)
        expected = [
            ("", tokenizer.id_to_token(id)) if id else (text[begin:end], None)
            for id, (begin, end) in zip(encoding.ids, encoding.offsets, strict=True)
        ]
        found = [(part, token and token.content) for part, token in matcher.split(text)]
        assert found == expected, (text, tokens)
