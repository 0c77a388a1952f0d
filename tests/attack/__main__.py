"""Attacks without end, or a number of them; each find is made small and kept as a case. One that ends the process is found
and kept as it is.

python -m tests.attack                           until Ctrl-C, from a random seed
python -m tests.attack --seed 1 --count 250000   these
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import hashlib
import itertools
import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from .attack import Attack, draw, minimised, problems

FOUND = Path(__file__).with_name("found")
SHARE = 200


def run_share(begin: int, count: int) -> tuple[int, list[tuple[Attack, list[str]]]]:
    """So many attacks: their number, and those that found something."""
    attacks = [draw(seed) for seed in range(begin, begin + count)]
    return count, [(attack, found) for attack in attacks if (found := problems(attack))]


def crash_in(begin: int, count: int, run: Callable[[int, int], Any] = run_share) -> int | None:
    """The first attack of a share that ends its process, if one does."""
    process = multiprocessing.get_context("fork").Process(target=run, args=(begin, count))
    process.start()
    process.join()
    if process.exitcode is not None and process.exitcode >= 0:
        return None
    if count == 1:
        return begin
    half = count // 2
    found = crash_in(begin, half, run)
    return crash_in(begin + half, count - half, run) if found is None else found


def keep(attack: Attack) -> Path:
    """Writes a case that `test_what_was_found` reads again."""
    text = attack.to_json()
    path = FOUND / f"{attack.format}_{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    path.write_text(text, encoding="utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**40))
    parser.add_argument("--count", type=int, help="attacks; none: no end")
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--most-kept", type=int, default=20, help="cases that are made small and written")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    begin_s, done, kinds = time.monotonic(), 0, Counter[str]()
    kept: set[tuple[str, str]] = set()
    starts = itertools.count(given.seed, SHARE)
    if given.count is not None:
        starts = iter(range(given.seed, given.seed + given.count, SHARE))  # type: ignore[assignment]
    with contextlib.ExitStack() as pools:
        pool = pools.enter_context(concurrent.futures.ProcessPoolExecutor(given.jobs))
        running: dict[
            concurrent.futures.Future[tuple[int, list[tuple[Attack, list[str]]]]], tuple[int, int]
        ] = {}
        while True:
            is_late = given.seconds is not None and time.monotonic() - begin_s > given.seconds
            while not is_late and len(running) < 2 * given.jobs and (begin := next(starts, None)) is not None:
                most = SHARE if given.count is None else min(SHARE, given.seed + given.count - begin)
                running[pool.submit(run_share, begin, most)] = begin, most
            if not running:
                break
            ended, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            if any(isinstance(future.exception(), BrokenProcessPool) for future in ended):
                # Which share it was, the pool does not say.
                for begin, count in running.values():
                    done += count
                    if (seed := crash_in(begin, count)) is not None:
                        kinds["crash"] += 1
                        print(f"{keep(draw(seed)).name} (seed {seed}): the process ended", flush=True)
                running = {}
                pool = pools.enter_context(concurrent.futures.ProcessPoolExecutor(given.jobs))
                continue
            for future in ended:
                del running[future]
                count, finds = future.result()
                done += count
                for attack, found in finds:
                    kinds.update(problem.partition(":")[0] for problem in found)
                    kind = found[0].partition(":")[0], attack.format
                    if kind in kept or len(kept) >= given.most_kept:
                        continue
                    kept.add(kind)
                    small = minimised(attack)
                    print(
                        f"{keep(small).name} (seed {attack.seed}): {small.raw!r} {small.options}\n  {problems(small)[:1]}",
                        flush=True,
                    )
    took = time.monotonic() - begin_s
    print(
        f"{done} attacks in {took:.0f} s, seeds {given.seed} to {given.seed + done - 1}: {sum(kinds.values())} finds {dict(kinds)}"
    )
    raise SystemExit(bool(kinds))


if __name__ == "__main__":
    main()
