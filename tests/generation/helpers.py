"""What several test files of this folder share, beside the fixtures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from tokenizers import Tokenizer


def wait_for(condition: Callable[[], bool], limit_s: float = 5.0) -> bool:
    """Whether the condition came true in time."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def encode_whole(tokenizer: Any, text: str, *, add_special_tokens: bool = False) -> list[int]:
    if isinstance(tokenizer, Tokenizer):
        return list(tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)
    return list(tokenizer(text, add_special_tokens=add_special_tokens)["input_ids"])


def join_pieces(pieces: Iterator[list[int]]) -> list[int]:
    found = list(pieces)
    assert all(found), "no piece is empty"
    return list(chain.from_iterable(found))
