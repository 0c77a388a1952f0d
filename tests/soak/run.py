"""Many streams at once for a long time: `python tests/soak/run.py`, with `--seconds` of CPU time.

1,000 streams live at once, in a few threads: of random formats, outputs, chunks and options; some are forked, moved by
a snapshot, rolled back, cancelled, cut or dropped. Beside them run batches, and channels with several producers and
one consumer. Each message must be what one call makes of the same input. After the warm-up no memory may grow, and at
the end no thread and no file descriptor may be left. A failure prints the stream's seed; `--only SEED` runs it alone.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bindings.allocator import allocated_bytes
from unspool import Parser

from soak.channels import run_group
from soak.streams import CASES, FILES, Batch, Stream, is_plain, may_be_strict, vocabulary_of

#: What may differ between two measures that are equal but for chance, in bytes.
RSS_SLACK = 24 << 20
NATIVE_SLACK = 1 << 20


def rss_bytes() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def count_in(folder: str) -> int | None:
    """How many entries a folder of /proc has: of this process's threads, or its open files."""
    try:
        return sum(1 for _ in Path(folder).iterdir())
    except OSError:
        return None


class Soak:
    def __init__(self, seed: int, streams: int, threads: int) -> None:
        self.seed, self.streams, self.threads = seed, streams, threads
        self.errors: list[str] = []
        self.counts: Counter[str] = Counter()
        self._number = 0
        self._lock = threading.Lock()

    def next_seed(self) -> str:
        with self._lock:
            self._number += 1
            return f"{self.seed}:{self._number}"

    def run(self, is_over: Callable[[], bool]) -> None:
        """Run until it is over; no stream is left then."""
        counts = [Counter[str]() for _ in range(self.threads)]
        workers = [
            threading.Thread(target=self._work, args=(is_over, self.streams // self.threads, counts[i]))
            for i in range(self.threads)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        for each in counts:
            self.counts += each

    def _work(self, is_over: Callable[[], bool], size: int, counts: Counter[str]) -> None:
        live: list[Stream] = []
        batch: Batch | None = None
        rng = random.Random(f"{self.seed} worker")
        seed = ""
        try:
            while not is_over() and not self.errors:
                while len(live) < size:
                    seed = self.next_seed()
                    live.append(Stream(seed, counts))
                for i in range(len(live) - 1, -1, -1):
                    seed = live[i].plan.seed
                    if not live[i].step():
                        live[i] = live[-1]
                        live.pop()
                if rng.random() < 0.2:
                    seed = self.next_seed()
                    run_group(seed, counts)
                if batch is None:
                    batch = Batch(self.next_seed(), counts)
                seed = batch.seed
                if not batch.step():
                    batch = None
        except BaseException:
            self.errors.append(f"seed {seed}:\n{traceback.format_exc()}")


def warm_up() -> None:
    """Compile every case's format and tools, with a vocabulary and strict: what is kept for a process."""
    for case in CASES:
        vocabulary = vocabulary_of(case.format)
        for tokenizer in (None, vocabulary):
            Parser(case.format, case.tools, **case.options, tokenizer=tokenizer)
        if is_plain(case.options) and may_be_strict(case.format):
            Parser(case.format, case.tools, **case.options, tokenizer=vocabulary, strict_markers=True)
    for name in FILES:
        Batch(name, Counter(), format=name)


def measure() -> dict[str, int | None]:
    gc.collect()
    return {
        "rss": rss_bytes(), "native": allocated_bytes() or None, "threads": count_in("/proc/self/task"),
        "files": count_in("/proc/self/fd"),
    }  # fmt: skip


def faults_of(before: dict[str, int | None], after: dict[str, int | None]) -> list[str]:
    """What has grown between two measures, each taken while no stream lives."""
    faults = []
    for name, slack in (("rss", RSS_SLACK), ("native", NATIVE_SLACK), ("threads", 0), ("files", 0)):
        old, new = before[name], after[name]
        if old is not None and new is not None and new > old + slack:
            faults.append(f"{name} has grown from {old:,} to {new:,}")
    return faults


#: How long caches of a process take to fill, in seconds of CPU time on a slow machine.
WARM_SECONDS = 15.0


def run(seed: int, seconds: float, streams: int = 1000, threads: int = 4) -> Soak:
    """Soak for so many seconds of CPU time. The first measure comes after a fifth of them, or after `WARM_SECONDS`
    if that is longer and no more than half.

    Raises:
        AssertionError: A message was wrong, or something has grown or is left.
    """
    # Damaged outputs close reasoning that nothing opened.
    warnings.filterwarnings("ignore", "the content has .* and nothing opened it", UserWarning)
    soak = Soak(seed, streams, threads)
    warm_up()
    begin = time.process_time()
    warm = max(seconds / 5, min(WARM_SECONDS, seconds / 2))
    soak.run(lambda: time.process_time() - begin > warm)
    before = measure()
    soak.run(lambda: time.process_time() - begin > seconds)
    after = measure()
    print(f"seed {seed}; {time.process_time() - begin:.0f} s of CPU time; {soak._number:,} seeds")
    for name, count in sorted(soak.counts.items()):
        print(f"  {name}: {count:,}")
    for name in before:
        print(f"  {name} after the warm-up and at the end: {before[name]:,} and {after[name]:,}")
    faults = [*soak.errors, *faults_of(before, after)]
    if faults:
        raise AssertionError("\n".join(faults))
    return soak


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600, help="of CPU time (default: ten minutes)")
    parser.add_argument("--streams", type=int, default=1000, help="that live at once")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument(
        "--seed", type=int, default=None, help="a run's own; default: a new one, which is printed"
    )
    parser.add_argument("--only", metavar="SEED", help="run the one stream of this seed, such as 12:345")
    given = parser.parse_args()
    if given.only:
        stream = Stream(given.only, Counter())
        print(stream.plan.case, stream.plan.options, stream.plan.fed)
        while stream.step():
            pass
        return 0
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    print(f"python tests/soak/run.py --seed {seed} --seconds {given.seconds:g}", flush=True)
    try:
        run(seed, given.seconds, given.streams, given.threads)
    except AssertionError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
