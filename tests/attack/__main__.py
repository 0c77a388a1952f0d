"""Attacks without end, or a number of them; each find is made small and kept as a case.

python -m tests.attack                           until Ctrl-C, from a random seed
python -m tests.attack --seed 1 --count 250000   these
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import itertools
import os
import random
import time
from collections import Counter
from pathlib import Path

from .attack import Attack, draw, minimised, problems

FOUND = Path(__file__).with_name("found")
SHARE = 200


def run_share(begin: int, count: int) -> tuple[int, list[tuple[Attack, list[str]]]]:
    """So many attacks: their number, and those that found something."""
    attacks = [draw(seed) for seed in range(begin, begin + count)]
    return count, [(attack, found) for attack in attacks if (found := problems(attack))]


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
    with concurrent.futures.ProcessPoolExecutor(given.jobs) as pool:
        running: set[concurrent.futures.Future[tuple[int, list[tuple[Attack, list[str]]]]]] = set()
        while True:
            is_late = given.seconds is not None and time.monotonic() - begin_s > given.seconds
            while not is_late and len(running) < 2 * given.jobs and (begin := next(starts, None)) is not None:
                most = SHARE if given.count is None else min(SHARE, given.seed + given.count - begin)
                running.add(pool.submit(run_share, begin, most))
            if not running:
                break
            ended, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in ended:
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
