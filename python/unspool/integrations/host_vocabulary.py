"""Compiles a host's tokenizer once."""

from __future__ import annotations

import functools
import logging
from typing import Any

from unspool._core import Vocabulary
from unspool.errors import VocabularyError

__all__ = ["vocabulary_of"]


@functools.lru_cache(maxsize=8)
def vocabulary_of(tokenizer: Any, logger: logging.Logger) -> Vocabulary | None:
    """The tokenizer's vocabulary. On failure logs a warning and returns None: markers are then matched by
    text."""
    try:
        return Vocabulary.from_tokenizer(tokenizer)
    except VocabularyError as error:
        logger.warning("markers are known by their text alone, without token ids: %s", error)
        return None
