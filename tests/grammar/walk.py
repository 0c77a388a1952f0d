"""Walks at random through the grammars of all formats, or of some, and prints what the parser misreads.

python tests/grammar/walk.py --walks 10000 [--format NAME]... [--seed N]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from pathlib import Path

import unspool
from unspool.grammar.make_grammar import make_grammar

sys.path.insert(0, str(Path(__file__).parent))
from walks import Walker, faults, fragments_of, splits_differ, tools_for


def main() -> int:
    """Returns 1 if anything was misread."""
    warnings.simplefilter("ignore")
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--walks", type=int, default=100)
    arguments.add_argument("--format", action="append")
    arguments.add_argument("--choice", action="append")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--show", type=int, default=1)
    given = arguments.parse_args()
    wrong = 0
    for file in unspool.formats():
        if not file.has_tools or (given.format and file.name not in given.format):
            continue
        for choice in given.choice or ("required", "auto"):
            wrong += _walk(file, choice, given)
    return int(wrong > 0)


def _walk(file: unspool.FormatFile, choice: str, given: argparse.Namespace) -> int:
    tools = tools_for(file)
    rng = random.Random(f"{given.seed} {file.name} {choice}")
    text = make_grammar(file, tools, tool_choice=choice).text
    walker = Walker(text, fragments_of(file, tools), rng)
    begin, done, wrong, shown = time.time(), 0, 0, 0
    for _ in range(given.walks):
        written = walker.walk()
        if written is None:
            continue
        done += 1
        found = faults(file, written, tools, choice != "auto")
        split = splits_differ(file, written, tools, rng, 1)
        found += [split] if split else []
        wrong += bool(found)
        if found and shown < given.show:
            shown += 1
            print(f"    {written.decode(errors='replace')!r}\n      {found}")
    verdict = "ok " if not wrong and done > given.walks / 2 else "BAD"
    print(
        f"{verdict} {file.name:18} {choice:9} {done - wrong}/{done} of {given.walks} in {time.time() - begin:.1f} s",
        flush=True,
    )
    return wrong + (done <= given.walks / 2)


if __name__ == "__main__":
    sys.exit(main())
