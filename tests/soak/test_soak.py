"""The soaks for a few seconds, and what they must notice."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from . import run as program
from . import server as servers
from .agents import Client, Wrong
from .run import faults_of, run
from .server import Measure, save_checkpoint, soak
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


@pytest.mark.rest
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_server_for_six_seconds(tmp_path: Path) -> None:
    save_checkpoint(tmp_path)
    runs, counts = soak(tmp_path, seed=7, seconds=6, servers=1, pauses=2)
    assert len(runs[0].measures) == 2
    assert counts["asks"] > 5
    assert counts["leaves"] > 0
    assert counts["status 200"] > 5


@pytest.mark.rest
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_wrong_answer_of_a_server_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def expects_another(self: Client) -> None:
        self._expect("/tokenize", {"model": "m", "prompt": "x"}, {418})

    monkeypatch.setitem(servers.ACTIONS, "asks", (1000, expects_another))
    save_checkpoint(tmp_path)
    with pytest.raises(Wrong, match="Wrong: 200 to"):
        soak(tmp_path, seed=7, seconds=60, servers=1, pauses=1)


@pytest.mark.parametrize(("name", "growth"), [("rss_mib", 49), ("threads", 3), ("files", 3), ("children", 2)])
def test_what_has_grown_in_a_server_is_noticed(name: str, growth: int) -> None:
    before = Measure(cpu_s=1, rss_mib=400, threads=4, files=15, children=4, lost=0)
    after = replace(before, **{name: getattr(before, name) + growth})
    assert servers.faults_of([before, before]) == []
    (fault,) = servers.faults_of([before, after])
    assert fault.startswith(f"{name} has grown")
    assert servers.faults_of([before, replace(before, lost=1), before]) == ["1 threads are lost"]
