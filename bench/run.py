"""Runs every peer on every workload and prints ratios. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PEERS = ("ours", "decode_stream", "text_streamer", "vllm_parsers", "sglang_parsers")
WORKLOADS = ("detokenize", "hermes", "llama3_json")
FOREIGN = ("vllm_parsers", "sglang_parsers")


def measure(peer: str, workload: str, size: int, repeat: int, cap: float) -> dict[str, Any]:
    """In the peer's own process: CPU µs a token, the best and the median of several runs."""
    sys.path.insert(0, str(HERE))
    import gc
    import importlib

    import workloads

    gc.disable()  # the harness keeps every result; no peer pays for collecting them
    module = importlib.import_module(f"peers.{peer}")
    runner = module.runners().get(workload)
    if runner is None:
        return {"status": "none"}
    load = workloads.make(workload, size)
    times, capped, result = [], False, ""
    done = count = len(load.ids)
    warm = runner(workloads.make(workload, 500))[0]
    for i in range(400):
        warm(i)
    overhead = loop_overhead(count)
    for _ in range(repeat):
        step, get_result = runner(load)
        begin = time.process_time()
        for done in range(count):
            step(done)
            if done % 64 == 0 and time.process_time() - begin > cap:
                capped = True
                break
        spent = time.process_time() - begin - overhead * (done + 1) / count
        times.append(spent / (done + 1) * 1e6)
        if capped:
            break
        result = get_result()
    return {
        "status": "capped" if capped else ("ok" if result == load.expected else "wrong"),
        "us_per_token": statistics.median(times),
        "best": min(times),
        "tokens": done + 1,
        "version": module.version(),
        "label": module.label,
    }


def loop_overhead(count: int) -> float:
    """What the loop itself costs, with a step that does nothing; the same for every peer."""
    ids, out = [0] * count, []

    def step(i: int) -> None:
        out.append(ids[i])

    best = math.inf
    for _ in range(3):
        out.clear()
        begin = time.process_time()
        for done in range(count):
            step(done)
            if done % 64 == 0 and time.process_time() - begin > 1e9:
                break
        best = min(best, time.process_time() - begin)
    return best


def run_apart(python: str, env: dict[str, str], *arguments: str, script: str = "run.py") -> dict[str, Any]:
    command = [python, str(HERE / script), "--measure", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return {"status": "failed", "why": "took more than 600 s"}
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        missing = "ModuleNotFoundError" in last[0] or "ImportError" in last[0]
        return {"status": "missing" if missing else "failed", "why": last[0]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def growth(points: list[tuple[int, float]]) -> float | None:
    """The exponent of total cost over length: 1 is linear."""
    if len(points) < 2:
        return None
    xs = [math.log(tokens) for tokens, _ in points]
    ys = [math.log(tokens * cost) for tokens, cost in points]
    mx, my = statistics.mean(xs), statistics.mean(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)  # noqa: B905


def floors() -> dict[str, float]:
    """What a call costs here that does nothing: a builtin, and one of pybind11."""
    import timeit

    import unspool

    calls = {"METH_FASTCALL builtin": math.gcd, "pybind11 method": unspool.DeltaChannel().close}
    return {name: min(timeit.repeat(call, number=100_000, repeat=5)) * 10 for name, call in calls.items()}


def cell(entry: dict[str, Any] | None, base: dict[str, Any] | None) -> str:
    if entry is None or entry["status"] in ("none", "missing"):
        return "–"
    if entry["status"] == "failed":
        return "failed"
    mark = {"ok": "", "wrong": " ✗", "capped": " (capped)"}[entry["status"]]
    ratio = entry["us_per_token"] / base["us_per_token"] if base and "us_per_token" in base else math.nan
    return f"{entry['us_per_token']:.2f} µs = {ratio:.1f}×{mark}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,4000,16000,64000")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cap", type=float, default=20.0, help="CPU seconds after which a run is stopped")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--python", default=sys.executable, help="the interpreter for vLLM and SGLang")
    parser.add_argument("--vllm", default=os.environ.get("UNSPOOL_BENCH_VLLM", ""))
    parser.add_argument("--sglang", default=os.environ.get("UNSPOOL_BENCH_SGLANG", ""))
    parser.add_argument("--measure", nargs=5, metavar="X", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        peer, workload, size, repeat, cap = options.measure
        print(json.dumps(measure(peer, workload, int(size), int(repeat), float(cap))))
        return
    sizes = [int(size) for size in options.sizes.split(",")]
    paths = [path for path in (options.vllm, options.sglang) if path]
    foreign = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]),
    }
    jobs = [(p, w, s) for p in options.peers.split(",") for w in WORKLOADS for s in sizes]
    random.Random(0).shuffle(jobs)
    results: dict[tuple[str, str, int], dict[str, Any]] = {}
    for number, (peer, workload, size) in enumerate(jobs, 1):
        print(
            f"\r{number}/{len(jobs)} {peer} {workload} {size}   ",
            end="",
            file=sys.stderr,
            flush=True,
        )
        python = options.python if peer in FOREIGN else sys.executable
        env = foreign if peer in FOREIGN else dict(os.environ)
        results[peer, workload, size] = run_apart(
            python, env, peer, workload, str(size), str(options.repeat), str(options.cap)
        )
    print(file=sys.stderr)
    report(results, sizes, options.peers.split(","))


def report(results: dict[tuple[str, str, int], dict[str, Any]], sizes: list[int], peers: list[str]) -> None:
    print(
        f"Python {platform.python_version()}, {platform.processor() or platform.machine()}; CPU µs a token, ratio to unspool"
    )
    for name, microseconds in floors().items():
        print(f"floor: {name} {microseconds:.3f} µs a call")
    curves: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for workload in WORKLOADS:
        print(f"\n{workload}")
        print(f"{'':28}" + "".join(f"{size:>30,}" for size in sizes) + f"{'growth':>10}")
        for peer in peers:
            row = [results[peer, workload, size] for size in sizes]
            if all(entry["status"] == "none" for entry in row):
                continue
            label = next((entry["label"] for entry in row if "label" in entry), peer)
            points = [(e["tokens"], e["us_per_token"]) for e in row if e["status"] in ("ok", "wrong")]
            points += [(e["tokens"], e["us_per_token"]) for e in row if e["status"] == "capped"][:1]
            exponent = growth(points)
            curves.setdefault(workload, {})[label] = points
            cells = [cell(e, results.get(("ours", workload, s))) for e, s in zip(row, sizes)]  # noqa: B905
            print(
                f"{label:28}"
                + "".join(f"{c:>30}" for c in cells)
                + (f"{exponent:>10.2f}" if exponent else f"{'–':>10}")
            )
    for (peer, workload, size), entry in sorted(results.items()):
        if entry["status"] in ("failed", "missing") and size == sizes[0]:
            print(f"{peer} {workload}: {entry['status']}: {entry['why']}")
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    rows = [{"peer": p, "workload": w, "size": s, **entry} for (p, w, s), entry in results.items()]
    (folder / "results.json").write_text(json.dumps(rows, indent=1))
    plot(curves, folder / "growth.png")


def plot(curves: dict[str, dict[str, list[tuple[int, float]]]], path: Path) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return
    figure, axes = pyplot.subplots(1, len(curves), figsize=(5 * len(curves), 4), sharey=True)
    for axis, (workload, lines) in zip(axes if len(curves) > 1 else [axes], curves.items()):  # noqa: B905
        for label, points in lines.items():
            ordered = sorted(points)
            axis.loglog([x for x, _ in ordered], [y for _, y in ordered], marker="o", label=label)
        axis.set_title(workload)
        axis.set_xlabel("tokens")
        axis.legend(fontsize=7)
    (axes[0] if len(curves) > 1 else axes).set_ylabel("CPU µs a token")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
