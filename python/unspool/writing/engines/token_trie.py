"""Converts a vocabulary for llguidance."""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any

from unspool._core import Vocabulary
from unspool.core.needs import needs

__all__ = ["llguidance_module", "token_trie"]

# Maximum number of bytes that are tokenized of a text that must follow; the time of merging grows with its square.
_MOST_BYTES = 64

_tries: weakref.WeakKeyDictionary[Vocabulary, Any] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def llguidance_module() -> Any:
    """Import llguidance.

    Raises:
        ImportError: llguidance is missing.
    """
    with needs("constrain"):
        import llguidance
    return llguidance


def token_trie(vocabulary: Vocabulary) -> Any:
    """Return llguidance's table of a vocabulary. It takes about a second for a large one, and is cached."""
    with _lock:
        found = _tries.get(vocabulary)
        if found is None:
            found = _tries[vocabulary] = llguidance_module().LLTokenizer(_Tokens(vocabulary))
        return found


class _Tokens:
    """The tokens of a vocabulary, and a tokenization of text that must follow."""

    is_tokenizer_wrapper = True
    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        added = vocabulary.added_tokens
        self.tokens = [vocabulary.token_bytes(id) for id in range(len(vocabulary))]
        self._ids = {text: id for id, text in enumerate(self.tokens) if id not in added}
        for id, text in added.items():
            self.tokens[id] = text.encode()
        # An additional end id, so that this package decides when an answer may end.
        self.eos_token_id = len(self.tokens)
        self.tokens.append(b"<end>")
        self.special_token_ids = [*added, self.eos_token_id]

    def __call__(self, text: str | bytes) -> list[int]:
        """Tokenize the beginning of a text by byte pair encoding, assuming that earlier merges have lower ids.

        Added tokens are not used. The ids are drafts, so the model's tokenizer may differ.
        """
        rest = (text.encode() if isinstance(text, str) else text)[:_MOST_BYTES]
        pieces = [bytes([byte]) for byte in rest]
        while pairs := [
            (self._ids[pair], at)
            for at in range(len(pieces) - 1)
            if (pair := pieces[at] + pieces[at + 1]) in self._ids
        ]:
            at = min(pairs)[1]
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
        return [self._ids[piece] for piece in itertools.takewhile(self._ids.__contains__, pieces)]
