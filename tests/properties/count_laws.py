"""How far each law holds: failures of all trials by law and format, with reproductions.

python tests/properties/count_laws.py [--law 1] [--format glm45] [--thorough] [--show 1]
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import unspool
from properties.laws import shown

LAWS = {int(file.stem.split("_")[2]): file.stem for file in Path(__file__).parent.glob("test_law_*.py")}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--law", type=int, action="append", choices=sorted(LAWS))
    arguments.add_argument("--format", action="append")
    arguments.add_argument("--thorough", action="store_true")
    arguments.add_argument("--show", type=int, default=1, help="reproductions of each kind and format")
    given = arguments.parse_args()
    names = [file.name for file in unspool.formats()]
    for law in given.law or sorted(LAWS):
        trials = importlib.import_module(f"properties.{LAWS[law]}").trials
        failed = total = 0
        kinds: Counter[str] = Counter()
        begin = time.process_time()
        for format in given.format or names:
            made = list(trials(format, given.thorough))
            failures = [trial for trial in made if trial.problem]
            kinds.update(trial.kind for trial in failures)
            failed += len(failures)
            total += len(made)
            if failures:
                print(f"law {law}, {format}: {len(failures)}/{len(made)}")
                print(shown(failures, given.show), flush=True)
        print(f"law {law}: {failed}/{total} in {time.process_time() - begin:.0f} s of CPU")
        for kind, number in kinds.most_common():
            print(f"  {number} {kind}")


if __name__ == "__main__":
    main()
