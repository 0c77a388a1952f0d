"""Options that hosts do not pass: the setting for `white_space`, and a compiled vocabulary."""

from __future__ import annotations

import functools
import logging
import os
from typing import Any, get_args

from unspool._core import Vocabulary
from unspool.core.stream.stream_options import WhiteSpace
from unspool.errors import ArgumentError, VocabularyError

__all__ = ["WHITE_SPACE", "vocabulary_of", "white_space"]

#: The environment variable that `white_space` reads.
WHITE_SPACE = "UNSPOOL_WHITE_SPACE"


def white_space() -> WhiteSpace:
    """Return the option `white_space` of `Parser`; "keep" if the environment variable is not set.

    Raises:
        ArgumentError: The variable has an invalid value.
    """
    value = os.environ.get(WHITE_SPACE) or "keep"
    for choice in get_args(WhiteSpace):
        if value == choice:
            return choice  # type: ignore[no-any-return]
    raise ArgumentError(f"the variable {WHITE_SPACE} is '{value}'; use 'keep' or 'trim'")


@functools.lru_cache(maxsize=8)
def vocabulary_of(tokenizer: Any, logger: logging.Logger) -> Vocabulary | None:
    """Compile the tokenizer's vocabulary. On failure, log a warning and return None; markers are then matched by
    text."""
    try:
        return Vocabulary.from_tokenizer(tokenizer)
    except VocabularyError as error:
        logger.warning("markers are known by their text alone, without token ids: %s", error)
        return None
