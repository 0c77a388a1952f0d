"""A vocabulary as llguidance reads it."""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any

from unspool._core import Vocabulary
from unspool.core.needs import needs

__all__ = ["llguidance_module", "token_trie"]

# Of a text that must follow: merging takes the square of it.
_MOST_BYTES = 64

_tries: weakref.WeakKeyDictionary[Vocabulary, Any] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def llguidance_module() -> Any:
    """The library.

    Raises:
        ImportError: It is missing.
    """
    with needs("constrain"):
        import llguidance
    return llguidance


def token_trie(vocabulary: Vocabulary) -> Any:
    """llguidance's table of a vocabulary: it takes a second for a large one, and is kept."""
    with _lock:
        found = _tries.get(vocabulary)
        if found is None:
            found = _tries[vocabulary] = llguidance_module().LLTokenizer(_Tokens(vocabulary))
        return found


class _Tokens:
    """The tokens, and how a text that must follow is cut into them."""

    is_tokenizer_wrapper = True
    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        added = vocabulary.added_tokens
        self.tokens = [vocabulary.token_bytes(id) for id in range(len(vocabulary))]
        self._ids = {text: id for id, text in enumerate(self.tokens) if id not in added}
        for id, text in added.items():
            self.tokens[id] = text.encode()
        # An id that no text has, so that the end is ours to allow.
        self.eos_token_id = len(self.tokens)
        self.tokens.append(b"<end>")
        self.special_token_ids = [*added, self.eos_token_id]

    def __call__(self, text: str | bytes) -> list[int]:
        """Cut the beginning of a text that must follow as byte pair encoding does, where earlier merges have lower ids.

        No special token is spelled. The ids are drafts, so other tokenizers may differ.
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
