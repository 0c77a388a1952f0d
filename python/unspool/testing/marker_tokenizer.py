"""A tokenizer whose tokens are bytes and a format's markers; needs no other package."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unspool._core import Detokenizer, Vocabulary
from unspool.core.vocabulary.gguf_vocabulary import LETTERS
from unspool.core.vocabulary.tokenizer_json import from_description
from unspool.formats.format_file import FormatFile

__all__ = ["END", "Encoding", "MarkerTokenizer", "marker_tokenizer"]

END = "</stop>"


def marker_tokenizer(file: FormatFile, end: str | None = END) -> MarkerTokenizer:
    """Create a tokenizer with a token for each byte and marker; the last token is `end`, unless it is None."""
    return MarkerTokenizer(list(file.facts.marker_tokens), [] if end is None else [end])


class Encoding(NamedTuple):
    """The result of `MarkerTokenizer.encode`."""

    ids: list[int]


class MarkerTokenizer:
    """A byte-level tokenizer with the methods of `tokenizers.Tokenizer` that tests and examples use.

    `to_str` returns its `tokenizer.json`, so `tokenizers.Tokenizer.from_str(it.to_str())` is an equal tokenizer.

    Args:
        added: Texts that are one token each.
        special: Further such texts, which `decode` skips by default.

    Attributes:
        vocabulary: The tokenizer's `Vocabulary`, as `Vocabulary.from_tokenizer` returns it.
    """

    vocabulary: Vocabulary

    def __init__(self, added: Sequence[str], special: Sequence[str] = ()) -> None:
        self._bytes = {letter: id for id, letter in enumerate(sorted(LETTERS))}
        self._added: dict[str, int] = {}
        self._special: set[str] = set()
        self._add(added)
        self.add_special_tokens(special)

    def add_special_tokens(self, tokens: Sequence[str]) -> None:
        """Add tokens that `decode` skips by default; existing tokens become special."""
        self._special.update(tokens)
        self._add(tokens)

    def _add(self, tokens: Sequence[str]) -> None:
        for token in tokens:
            self._added.setdefault(token, self.get_vocab_size())
        longest_first = sorted(map(re.escape, self._added), key=len, reverse=True)
        self._pattern = re.compile(f"({'|'.join(longest_first) or '(?!)'})")
        self.vocabulary = from_description(self._description())

    def encode(self, text: str, add_special_tokens: bool = True) -> Encoding:  # noqa: ARG002 (there are none to add)
        """Encode a text; at each place the longest added token is matched."""
        ids: list[int] = []
        for number, part in enumerate(self._pattern.split(text)):
            ids += (
                [self._added[part]] if number % 2 else [self._bytes[LETTERS[byte]] for byte in part.encode()]
            )
        return Encoding(ids)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Decode ids."""
        stream = Detokenizer(self.vocabulary, skip_special_tokens=skip_special_tokens)
        return stream.put(list(ids)) + stream.end()

    def get_added_vocab(self) -> dict[str, int]:
        """Return the ids of the added tokens by text."""
        return dict(self._added)

    def token_to_id(self, token: str) -> int | None:
        """Return the id of an added token, or of a byte by its letter; None: there is no such token."""
        return self._added.get(token, self._bytes.get(token))

    def get_vocab_size(self) -> int:
        """Return the number of tokens."""
        return len(self._bytes) + len(self._added)

    def to_str(self) -> str:
        """Return the text of its `tokenizer.json`."""
        return json.dumps(self._description())

    def save(self, path: str) -> None:
        """Write its `tokenizer.json`."""
        Path(path).write_text(self.to_str(), encoding="utf-8")

    def _description(self) -> dict[str, Any]:
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        return {
            "version": "1.0",
            "added_tokens": [
                {"id": id, "content": text, "special": text in self._special, **flags}
                for text, id in self._added.items()
            ],
            "pre_tokenizer": byte_level,
            "decoder": byte_level,
            "model": {"type": "BPE", "vocab": self._bytes, "merges": []},
        }
