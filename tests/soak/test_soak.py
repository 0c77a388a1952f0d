"""The soak for two seconds, and what it must notice."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from . import run as program
from .run import faults_of, run
from .streams import Plan, Stream


def test_two_seconds() -> None:
    counts = run(seed=20, seconds=2, streams=100, threads=2).counts
    assert counts["ended: stop"] > 20
    assert counts["forks"] > 0
    assert counts["snapshots"] > 0
    assert counts["channels: close"] > 0
    assert counts["ended in a batch"] > 0


def test_a_wrong_message_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(program.Stream):
        def step(self) -> bool:
            if len(self.left) == 1:
                self.left[0] = self.left[0][:-1]
            return super().step()

    monkeypatch.setattr(program, "Stream", Late)
    with pytest.raises(AssertionError, match=r"seed 3:\d+:[\s\S]* differs from one-shot"):
        run(seed=3, seconds=2, streams=20, threads=1)


@pytest.mark.parametrize("name", ["rss", "native", "threads", "files"])
def test_what_has_grown_is_noticed(name: str) -> None:
    before: dict[str, Any] = dict.fromkeys(["rss", "native", "threads", "files"], 10)
    assert faults_of(before, before) == []
    assert faults_of(before, {**before, name: 1 << 30}) == [f"{name} has grown from 10 to 1,073,741,824"]


def test_a_seed_makes_the_same_stream() -> None:
    one, other = Plan("5:9"), Plan("5:9")
    assert (one.fed, one.options, one.pieces) == (other.fed, other.options, other.pieces)
    assert Stream("5:9", Counter()).plan.fed == one.fed
