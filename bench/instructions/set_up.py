"""Instructions of what a request and a process begin with, in Python, counted by callgrind.

python bench/instructions/set_up.py FOLDER [--check | --record] [WORKLOAD ...]

FOLDER has the package: an unpacked wheel, or python/ after dev_build.sh. A figure is the difference of two runs, so that the interpreter's own start
cancels out. Another interpreter or compiler makes other code: figures are compared with those of the same ones alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

FIGURES = Path(__file__).parent / "set_up.json"
TOLERANCE = 0.03
SHORT, LONG = 50, 150

#: Run by the counted interpreter; `count` is how often `make` is called.
PREPARE = """
import json, sys
import unspool
count = int(sys.argv[1])
text = json.dumps([
    {
        "type": "function",
        "function": {
            "name": f"tool_{index}",
            "description": "Looks something up and returns what it has found, as JSON.",
            "parameters": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What to look for."},
                    "limit": {"type": "integer", "description": "At most so many results."},
                    "exact": {"type": "boolean"},
                },
                "required": ["query"],
            },
        },
    }
    for index in range(10)
])
tools = json.loads(text)
vocabulary = unspool.Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)
"""

#: What is prepared, and what is counted.
WORKLOADS = {
    "parser": ("make = lambda _: unspool.Parser('hermes')",),
    "parser, the same tools": ("make = lambda _: unspool.Parser('hermes', tools=tools)",),
    "parser, equal tools": (
        f"lists = [json.loads(text) for _ in range({LONG + 1})]",
        "make = lambda i: unspool.Parser('hermes', tools=lists[i])",
    ),
    "streamer, a prompt": (
        "ids = list(b'<|im_start|>assistant\\n')",
        "make = lambda _: unspool.TokenStreamer(vocabulary, 'hermes', tools, prompt=ids, stop=['###'])",
    ),
    "batch, a slot": (
        "batch = unspool.StreamBatch(vocabulary, 'hermes')",
        "make = lambda _: batch.remove(batch.add(tools))",
    ),
}
CALLS = "make(0)\nfor i in range(count): make(i + 1)"


def run(folder: Path, *arguments: str) -> int:
    """Instructions of one run of Python, without `site`, which differs from environment to environment."""
    environment = {"PYTHONHASHSEED": "0", "PYTHONPATH": str(folder.resolve()), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-S", "-c", *arguments]
    # Once without counting: it writes the compiled modules.
    subprocess.run(command, env=environment, check=True)
    counting = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    done = subprocess.run(counting, env=environment, capture_output=True, text=True, check=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        raise SystemExit(f"callgrind counted nothing:\n{done.stderr}")
    return int(collected[1])


def count(folder: Path, workload: str) -> int:
    """Instructions of one call, or of the import."""
    if workload == "import":
        return run(folder, "import unspool") - run(folder, "")
    code = "\n".join([PREPARE, *WORKLOADS[workload], CALLS])
    return round((run(folder, code, str(LONG)) - run(folder, code, str(SHORT))) / (LONG - SHORT))


def main() -> None:
    names = ("import", *WORKLOADS)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(names)}")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", action="store_true")
    given = parser.parse_intermixed_args()
    if shutil.which("valgrind") is None:
        raise SystemExit("there is no valgrind; install it, or leave this check out")
    recorded = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"python": "", "figures": {}}
    is_comparable = recorded["python"] == sys.version
    figures = {}
    is_off = False
    for workload in given.workloads or names:
        figures[workload] = count(given.folder, workload)
        before = recorded["figures"].get(workload)
        change = figures[workload] / before - 1 if before and is_comparable else 0.0
        is_off |= abs(change) > TOLERANCE
        print(f"{workload:24} {figures[workload]:12,} instructions  {change:+.1%}", flush=True)
    if given.record:
        FIGURES.write_text(json.dumps({"python": sys.version, "figures": figures}, indent=2) + "\n")
    elif not is_comparable:
        print(f"set_up.json is of {recorded['python']!r}, this is {sys.version!r}: nothing is compared")
    elif given.check and is_off:
        sys.exit("a workload is off by more than 3 %: mend it, or record the new figures and say why")


if __name__ == "__main__":
    main()
