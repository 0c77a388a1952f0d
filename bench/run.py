"""Runs the benchmark: all installed peers on the same inputs. See README.md in this folder.

    python bench/run.py [--quick] [--out FOLDER] [--peers ours,vllm_parsers,…] [--sections streams,growth,…]

Prints a table, and writes it to results.md, with results.json and, if matplotlib is installed, results.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from harness import cases, counts, other_figures, plot, report
from harness.peer_process import PeerProcess

HERE = Path(__file__).parent
PEERS = (
    "ours_batch", "ours_batch_each", "ours", "empty_call", "decode_stream", "fastokens_stream", "token_bytes",
    "two_decodes", "text_streamer", "vllm_parsers", "sglang_parsers", "lmdeploy_parsers", "harmony", "recipe",
)  # fmt: skip
OTHERS = ("import", "masks", "instructions")
SLOW_S = 0.5  # cells whose run takes longer are not repeated


def measure(
    peers: list[PeerProcess], cells: list[cases.Case], repeat: int, job: dict[str, Any]
) -> list[dict[str, Any]]:
    """Measure all cells of all peers in several rounds; the minimum counts, to exclude noise."""
    found: list[dict[str, dict[str, Any]]] = [{} for _ in cells]
    for number in range(repeat):
        for place, (case, best) in enumerate(zip(cells, found, strict=True), 1):
            where = f"round {number + 1} of {repeat}, {place}/{len(cells)}: {case.row}, {case.column}"
            print(f"\r{where}".ljust(99), end="", file=sys.stderr, flush=True)
            asked = [peer for peer in peers if _is_worth_asking(best.get(peer.name))]
            for peer in random.sample(asked, len(asked)):
                asking = {**job, "work": case.work, "loads": case.loads, "streams": case.streams, **case.more}
                got = peer.ask(asking)
                before = best.get(peer.name)
                if before is None or got.get("us", 0) < before.get("us", 0):
                    best[peer.name] = got
    print(file=sys.stderr)
    return [
        {**asdict(case), "peer": name, "loads": Path(case.loads).stem, **got}
        for case, best in zip(cells, found, strict=True)
        for name, got in best.items()
        if got["status"] != "none"
    ]


def _is_worth_asking(before: dict[str, Any] | None) -> bool:
    """Whether to run a cell again: not if it failed or was slow, because slow runs vary less."""
    if before is None:
        return True
    return before["status"] not in ("none", "failed") and before.get("spent", 0) < SLOW_S


def machine() -> str:
    """Describe the environment on which the figures depend."""
    model = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists() and (found := re.search(r"model name\s*: (.*)", info.read_text())):
        model = f"{found[1]}, {model}"
    return (
        f"{os.cpu_count()} cores of {model}; {platform.system()}, Python {platform.python_version()}; "
        f"load before the run {os.getloadavg()[0]:.1f}"
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: a look whether all of it runs")
    parser.add_argument("--sections", default=",".join((*cases.SECTIONS, *OTHERS)))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--sizes", metavar="TOKENS,…", help="lengths of one answer, for the section growth")
    parser.add_argument("--repeat", type=int, default=0, help="how often each figure is measured; default 5")
    parser.add_argument("--cap", type=float, default=2.0, help="CPU seconds after which a run is stopped")
    parser.add_argument(
        "--instructions", type=Path, metavar="PROGRAM", help="count with this unspool_workloads"
    )
    parser.add_argument(
        "--report", action="store_true", help="write the table and the plot of results.json again"
    )
    return parser.parse_args()


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "results.json"
    if not given.report:
        path.write_text(json.dumps(run(given), indent=1, ensure_ascii=False) + "\n")
    results = json.loads(path.read_text())
    table = report.markdown(results, [*PEERS])
    (given.out / "results.md").write_text(table)
    print(table)
    plot.plot(results, given.out / "results.svg", [*PEERS])


def run(given: argparse.Namespace) -> dict[str, Any]:
    """Return all requested results as data."""
    sections = tuple(given.sections.split(","))
    sizes = cases.QUICK if given.quick else cases.Sizes()
    if given.sizes:
        sizes = replace(sizes, growth=tuple(int(size) for size in given.sizes.split(",")))
    repeat = given.repeat or (1 if given.quick else 5)
    job = {"cap": given.cap, "least": 0.0 if given.quick else 0.02}
    about, began = machine(), time.time()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        loads = cases.Loads(folder)
        wanted = tuple(name for name in cases.SECTIONS if name in sections)
        cells = list(cases.all_cases(loads, sizes, wanted))
        peers = [PeerProcess(peer, dict(os.environ)) for peer in given.peers.split(",")]
        known = {peer.name: peer.hello for peer in peers}
        timed = [case for case in cells if case.section != "memory"]
        rows += measure([peer for peer in peers if peer.is_there], timed, repeat, job)
        for peer in peers:
            peer.close()
        rows += count(given.peers.split(","), [case for case in cells if case.section == "memory"], folder)
    others = other_figures.measure([name for name in OTHERS if name in sections], given.instructions)
    return {"machine": about, "minutes": round((time.time() - began) / 60, 1), "peers": known,
            "missing": loads.missing, "sizes": asdict(sizes), "cap": given.cap, "cells": rows, "others": others}  # fmt: skip


def count(names: list[str], cells: list[cases.Case], folder: Path) -> list[dict[str, Any]]:
    """Count bytes and allocations of one peer after the other, in separate processes."""
    rows: list[dict[str, Any]] = []
    if not cells or sys.platform != "linux":
        return rows
    try:
        environment = counts.environment(folder)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        print(f"allocations are not counted: {error}", file=sys.stderr)
        return rows
    for name in names:
        peer = PeerProcess(name, environment)
        if peer.is_there:
            rows += measure([peer], cells, 1, {"cap": 60.0})
        peer.close()
    return rows


if __name__ == "__main__":
    main()
