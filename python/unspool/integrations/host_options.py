"""Options that have no setting in the host; they are read from the environment."""

from __future__ import annotations

import os
from typing import get_args

from unspool.core.stream.stream_options import WhiteSpace
from unspool.errors import ArgumentError

__all__ = ["WHITE_SPACE", "white_space"]

#: The variable that `white_space` reads.
WHITE_SPACE = "UNSPOOL_WHITE_SPACE"


def white_space() -> WhiteSpace:
    """The option `white_space` of `Parser`; "keep" if the variable is not set.

    Raises:
        ArgumentError: The variable has an invalid value.
    """
    value = os.environ.get(WHITE_SPACE) or "keep"
    for choice in get_args(WhiteSpace):
        if value == choice:
            return choice  # type: ignore[no-any-return]
    raise ArgumentError(f"the variable {WHITE_SPACE} is '{value}'; use 'keep' or 'trim'")
