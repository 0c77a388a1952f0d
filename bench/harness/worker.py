"""The program of a peer's process: reads jobs as lines of JSON, runs each, and answers with a line of JSON.

    python -m harness.worker PEER    (bench/run.py starts it)

A job measures one run of one peer. run.py asks the peers in turn, repeatedly, so that other load on the machine affects
all of them.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from peers import Absent, Work

from harness import counts, workloads
from harness.answers import difference

JUDGED = 8  # number of kinds of input whose answers are checked


def drive(steps: list[Callable[[int], Any]], places: int, cap: float, clock: Callable[[], float]) -> Any:
    """Feed all streams their tokens; returns the seconds, and the number of places that were done before the cap."""
    stride, done = max(1, 64 // len(steps)), 0
    begin = clock()
    for i in range(places):
        for step in steps:
            step(i)
        if i % stride == 0 and clock() - begin > cap:
            done = i + 1
            break
    return clock() - begin, done or places


def run_pass(
    work: Work, groups: list[list[Any]], cap: float, clock: Callable[[], float]
) -> tuple[float, float, tuple[int, int], bool]:
    """Run all groups in turn; returns seconds, tokens, (steps per place, places), and whether the cap stopped it."""
    seconds, tokens, width, places = 0.0, 0.0, 0, 0
    for group in groups:
        streams = work(group)
        spent, done = drive(streams.steps, streams.places, cap - seconds, clock)
        seconds += spent
        tokens += done * sum(load.tokens for load in group) / streams.places
        width, places = len(streams.steps), places + done
        if done < streams.places or seconds > cap:
            return seconds, tokens, (width, places), True
    return seconds, tokens, (width, places), False


class Worker:
    """Runs jobs, and keeps its state between them."""

    def __init__(self, peer: str) -> None:
        self.module: Any = importlib.import_module(f"peers.{peer}")
        self._verdicts: dict[tuple[str, str], dict[str, str]] = {}
        self._empties: dict[tuple[int, str], float] = {}

    def answer(self, job: dict[str, Any]) -> dict[str, Any]:
        work = self.module.WORKS.get(job["work"])
        if work is None:
            return {"status": "none"}
        kinds = workloads.read(job["loads"])
        loads = [kinds[k % len(kinds)] for k in range(job["streams"])]
        try:
            if job.get("counts"):
                return {"status": "ok", **counts.of_work(work, loads)}
            return self._measure(work, kinds, loads, job)
        except (Absent, ImportError, LookupError) as error:
            return {"status": "none", "why": f"{type(error).__name__}: {error}"}

    def _measure(self, work: Work, kinds: list[Any], loads: list[Any], job: dict[str, Any]) -> dict[str, Any]:
        """Return the minimum of as many passes as the job has time for.

        A single stream reads all kinds of input in turn, because the processor would learn a short one.
        """
        verdict = self._verdict(work, kinds, job)
        clock = time.perf_counter if job.get("clock") == "wall" else time.process_time
        groups = [[kind] for kind in kinds] if len(loads) == 1 else [loads]
        best, spent_s, is_stopped = float("inf"), 0.0, False
        gc.collect()
        while not is_stopped and (spent_s == 0 or spent_s < job["least"]):
            seconds, tokens, calls, is_stopped = run_pass(work, groups, job["cap"], clock)
            best = min(best, seconds / tokens)
            spent_s += seconds
        width, places = calls
        us = (best - self._empty(width, clock) * places / tokens) * 1e6
        return {**verdict, "us": us, "stopped": is_stopped, "spent": spent_s}

    def _verdict(self, work: Work, kinds: list[Any], job: dict[str, Any]) -> dict[str, str]:
        """Check the peer's answers for one stream of each kind of load; "unseen" if that takes too long."""
        key = (job["work"], job["loads"])
        if key not in self._verdicts:
            self._verdicts[key] = self._judge(work, kinds[:JUDGED], 2 * job["cap"])
        return self._verdicts[key]

    @staticmethod
    def _judge(work: Work, kinds: list[Any], cap: float) -> dict[str, str]:
        streams = work(kinds)
        outputs: list[list[Any]] = [[] for _ in streams.steps]
        begin = time.process_time()
        for i in range(streams.places):
            for out, step in zip(outputs, streams.steps, strict=True):
                out.append(step(i))
            if i % 64 == 0 and time.process_time() - begin > cap:
                return {"status": "unseen"}
        answers = streams.answers(outputs)
        pairs = zip(answers, kinds, strict=False)
        wrong = [found for got, load in pairs if (found := difference(got, load.content, load.arguments))]
        if not wrong:
            return {"status": "ok"}
        return {
            "status": "wrong",
            "why": f"{', '.join(sorted(set(wrong)))} in {len(wrong)} of {len(answers)}",
        }

    def _empty(self, width: int, clock: Callable[[], float]) -> float:
        """Return the minimum seconds so far that the loop itself takes for a place, with steps that do nothing."""
        places = max(8, 4_000 // width)
        values = [0] * places
        steps = [lambda i: values[i] for _ in range(width)]
        runs = [drive(steps, places, 1e9, clock)[0] / places for _ in range(5)]
        key = (width, clock.__name__)
        self._empties[key] = min(*runs, self._empties.get(key, runs[0]))
        return self._empties[key]


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")  # keeps a peer's prints out of the answers
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        worker = Worker(sys.argv[1])
        hello = {"status": "ok", "label": worker.module.label, "version": worker.module.version()}
    except Exception as error:
        hello = {"status": "missing", "why": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    print(json.dumps(hello), file=answers, flush=True)
    if hello["status"] != "ok":
        return
    gc.collect()
    gc.freeze()
    gc.disable()  # no run pays for collecting the objects of another
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:
            answer = {"status": "failed", "why": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
