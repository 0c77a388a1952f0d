"""What several test files of this folder share, beside the fixtures."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer

#: Those that the installed transformers has.
BACKENDS = ["transformers", "native"]
if tuple(map(int, transformers.__version__.split(".")[:2])) >= (5, 17):
    BACKENDS.append("batched")


class HeldModel:
    """Writes `id`, as it is at each of two steps; the second one waits for `go_on`."""

    def __init__(self) -> None:
        self.id = 65
        self.entered = threading.Semaphore(0)
        self.go_on = threading.Event()

    def generate(self, input_ids: Any, streamer: Any, **_: Any) -> None:
        streamer.put(input_ids)
        streamer.put(torch.tensor([self.id]))
        self.entered.release()
        assert self.go_on.wait(10)
        streamer.put(torch.tensor([self.id]))


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
