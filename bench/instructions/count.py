"""Instructions a token, counted by callgrind: steady where times are not.

python bench/instructions/count.py PATH/unspool_workloads [--check | --record] [--top N] [WORKLOAD ...]

The program is built by CMake with -DUNSPOOL_BENCH=ON. `--check` fails if a workload takes more than 3 % more
or less than figures.json says; `--record` writes that file. Another compiler makes other code: figures are compared with those
of the same compiler alone.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import real_text

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
FORMATS = HERE.parents[1] / "parsers"
OF_WORDS = ("detokenize", "content", "json_call", "tagged_call", "step", "parse_batch")
OF_TEXT = tuple(real_text.WORKLOADS)
TOLERANCE = 0.03


def count(program: Path, workload: str, top: int = 0) -> float:
    """Instructions a token of one workload; prints the `top` functions."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=measured",
            str(program), str(FORMATS), workload,
        ]  # fmt: skip
        if workload in OF_TEXT:
            real_text.prepare(Path(folder))
            command.append(folder)
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        collected = re.search(r"Collected : (\d+)", run.stderr)
        if collected is None:
            raise SystemExit(f"callgrind counted nothing:\n{run.stderr}")
        tokens = int(run.stdout)
        if top:
            print_top(out, tokens, top)
        return int(collected[1]) / tokens


def print_top(out: Path, tokens: int, top: int) -> None:
    """The functions that take most, without what they call."""
    command = ["callgrind_annotate", "--auto=no", "--threshold=100", str(out)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    totals: dict[str, int] = {}
    for number, place in re.findall(r"^ *([\d,]+) \([ \d.]+%\)  (.*)$", text, re.MULTILINE):
        name = re.sub(
            r"\(.*|\[.*", "", place.partition(":")[2].replace("(anonymous namespace)::", "")
        ).strip()
        if name:
            totals[name] = totals.get(name, 0) + int(number.replace(",", ""))
    for name, total in sorted(totals.items(), key=lambda item: -item[1])[:top]:
        print(f"    {total / tokens:8.1f}  {name[:90]}")


def compiler_of(program: Path) -> str:
    """What the program says of its compiler."""
    text = program.read_bytes()
    found = re.search(rb"(GCC: \([^)]*\) [\d.]+|clang version [\d.]+)", text)
    return found[0].decode() if found else "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("workloads", nargs="*", default=OF_WORDS + OF_TEXT, metavar="WORKLOAD")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--top", type=int, default=0, help="print the functions that take most")
    given = parser.parse_intermixed_args()
    if shutil.which("valgrind") is None:
        raise SystemExit("there is no valgrind; install it, or leave this check out")
    recorded = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"compiler": "", "figures": {}}
    compiler = compiler_of(given.program)
    comparable = compiler == recorded["compiler"]
    figures = {}
    is_off = False
    for workload in given.workloads:
        figures[workload] = round(count(given.program, workload, given.top), 1)
        before = recorded["figures"].get(workload)
        change = figures[workload] / before - 1 if before and comparable else 0.0
        is_off |= abs(change) > TOLERANCE
        print(f"{workload:16} {figures[workload]:8.1f} instructions a token  {change:+.1%}", flush=True)
    if given.record:
        FIGURES.write_text(json.dumps({"compiler": compiler, "figures": figures}, indent=2) + "\n")
    elif not comparable:
        print(
            f"figures.json is of {recorded['compiler']!r}, this program of {compiler!r}: nothing is compared"
        )
    elif given.check and is_off:
        sys.exit("a workload is off by more than 3 %: mend it, or record the new figures and say why")


if __name__ == "__main__":
    main()
