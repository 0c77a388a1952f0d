"""One vocabulary for a tokenizer: compiling takes a tenth of a second, a stream must not."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

from unspool._core import Vocabulary
from unspool.fork_safety import ForkSafeLock

__all__ = ["shared_vocabulary"]

_compiled: weakref.WeakKeyDictionary[Any, tuple[int, Vocabulary]] = weakref.WeakKeyDictionary()
_lock = ForkSafeLock()


def shared_vocabulary(tokenizer: Any) -> Vocabulary:
    """The tokenizer's vocabulary; compiled anew where tokens were added since.

    Raises:
        VocabularyError: As of `Vocabulary.from_tokenizer`.
    """
    with _lock:  # streams that start together wait for the first
        size = len(tokenizer) if hasattr(tokenizer, "__len__") else -1
        with contextlib.suppress(TypeError):  # not to be hashed, or referred to weakly
            found = _compiled.get(tokenizer)
            if found is not None and found[0] == size:
                return found[1]
        vocabulary = Vocabulary.from_tokenizer(tokenizer)
        with contextlib.suppress(TypeError):
            _compiled[tokenizer] = (size, vocabulary)
        return vocabulary
