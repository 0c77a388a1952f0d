"""Figures that need no peer's process: import times, grammar masks, instruction counts."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BENCH = Path(__file__).parents[1]
MODULES = ("unspool", "tokenizers", "fastokens", "deepseek_recipe", "openai_harmony", "transformers", "vllm")
REPEATS = 5
SLOW_S = 2.0


def measure(names: list[str], program: Path | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "import" in names:
        found["import"] = import_times()
    if "masks" in names:
        found["masks"] = masks()
    if "instructions" in names:
        found["instructions"] = instructions(program)
    return found


def import_times() -> dict[str, float | str]:
    """Return by package the milliseconds of CPU time that `import` adds to a new process, or why it fails."""
    found: dict[str, float | str] = {}
    with tempfile.TemporaryDirectory() as compiled:
        bare = _seconds("pass", compiled)
        assert bare is not None
        for module in MODULES:
            taken = _seconds(f"import {module}", compiled)
            found[module] = "not installed" if taken is None else round((taken - bare) * 1e3, 1)
    return found


def _seconds(code: str, compiled: str) -> float | None:
    """Return the CPU time of a process that runs this. The first run, which compiles the modules, does not count."""
    best = None
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for number in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, check=False, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            return None
        taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = taken if number <= 1 or best is None else min(best, taken)
        if number and taken > SLOW_S:
            break
    return best


def masks() -> dict[str, Any]:
    """Return the rows of bench/constrain.py for llguidance and xgrammar with the same answer."""
    command = [sys.executable, str(BENCH / "constrain.py"), "--short"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"why": (done.stderr.strip().splitlines() or ["no message"])[-1][:200]}
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    return {"rows": [row for row in rows if len(row) == 5 and row[0]]}


def instructions(program: Path | None) -> dict[str, Any]:
    """Return the instruction counts, measured now if there is a program, else those recorded for CI."""
    if program is None:
        return {**json.loads((BENCH / "instructions" / "figures.json").read_text()), "how": "recorded"}
    sys.path.insert(0, str(BENCH / "instructions"))
    from count import WORKLOADS, compiler_of, count

    figures = {name: round(count(program, name), 1) for name in WORKLOADS}
    return {"compiler": compiler_of(program), "figures": figures, "how": "counted in this run"}
