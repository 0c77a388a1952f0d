"""TokenBuffer: first in, first out, in linear time."""

from __future__ import annotations

import time
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unspool import ArgumentError
from unspool.generation.prompts.pieces.token_buffer import TokenBuffer


@given(st.lists(st.one_of(st.lists(st.integers(0, 9), max_size=3000), st.integers(1, 3000)), max_size=40))
def test_it_is_a_queue(steps: list[list[int] | int]) -> None:
    buffer, oracle, peak = TokenBuffer(), deque[int](), 0
    for step in steps:
        if isinstance(step, list):
            buffer.put(step)
            oracle.extend(step)
        elif step <= len(oracle):
            assert buffer.pop(step) == [oracle.popleft() for _ in range(step)]
        peak = max(peak, len(oracle))
        assert len(buffer) == len(oracle)
        assert buffer.peak == peak


def test_what_it_holds_is_all_that_can_be_taken() -> None:
    buffer = TokenBuffer()
    buffer.put(range(5))
    assert buffer.pop(2) == [0, 1]
    for count in (0, -1, 4):
        with pytest.raises(ArgumentError, match="ask for 1 to 3"):
            buffer.pop(count)
    for wrong in (True, 1.0, None):
        with pytest.raises(TypeError, match="count must be an int"):
            buffer.pop(wrong)  # type: ignore[arg-type]
    assert buffer.pop(3) == [2, 3, 4]
    with pytest.raises(ArgumentError):
        buffer.pop(1)


def test_what_was_taken_is_let_go() -> None:
    buffer = TokenBuffer()
    for _ in range(2000):
        buffer.put(range(100))
        buffer.pop(100)
    assert buffer.peak == 100
    assert len(buffer._ids) < 3000


@pytest.mark.parametrize("size", [1, 512])
def test_a_million_ids_take_less_than_a_second(size: int) -> None:
    buffer = TokenBuffer()
    buffer.put(range(1_000_000))
    begin = time.process_time()
    for _ in range(1_000_000 // size):
        buffer.pop(size)
    assert time.process_time() - begin < 1
