"""Many streams side by side, from ids to the bytes of chat chunks: one token a stream and step.

python bench/streams.py [--streams 1,64,256,1024] [--tokens 600] [--repeat 3]
    [--python OTHER/bin/python --vllm PATH/vllm-0.33.0 --sglang PATH/sglang-unpacked]
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PEERS = ("ours.batch", "ours.streams", "vllm_parsers.streams", "sglang_parsers.streams")


def measure(peer: str, count: int, tokens: int, repeat: int, cap: float) -> dict[str, Any]:
    """In the peer's own process: CPU µs a token, the best of several runs."""
    import workloads

    gc.disable()
    module, _, name = peer.partition(".")
    make = getattr(importlib.import_module(f"peers.{module}"), name)
    load = workloads.make("hermes", tokens)
    best, result = float("inf"), ""
    for _ in range(repeat):
        step, get_result = make(load, count)
        begin = time.process_time()
        done = 0
        for done in range(len(load.ids)):
            step(done)
            if time.process_time() - begin > cap:
                break
        best = min(best, (time.process_time() - begin) / (done + 1) / count * 1e6)
        if done + 1 < len(load.ids):
            return {"status": "capped", "us_per_token": best}
        result = arguments_of(get_result())
        gc.collect()
    return {"status": "ok" if result == load.expected else "wrong", "us_per_token": best}


def arguments_of(sse: str) -> str:
    """The arguments in a response's chunks."""
    parts = []
    for line in sse.splitlines():
        if not line.startswith("data: {"):
            continue
        for choice in json.loads(line[6:])["choices"]:
            for call in choice["delta"].get("tool_calls") or ():
                parts.append(call["function"].get("arguments") or "")
    return "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", default="1,64,256,1024")
    parser.add_argument("--tokens", type=int, default=600)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cap", type=float, default=20.0, help="CPU seconds after which a run is stopped")
    parser.add_argument("--python", default=sys.executable, help="the interpreter for vLLM and SGLang")
    parser.add_argument("--vllm", default="")
    parser.add_argument("--sglang", default="")
    parser.add_argument("--measure", nargs=5, metavar="X", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        peer, *numbers = options.measure
        count, tokens, repeat, cap = map(int, numbers)
        print(json.dumps(measure(peer, count, tokens, repeat, cap)))
        return
    sys.path.insert(0, str(HERE))
    from run import run_apart

    paths = [path for path in (options.vllm, options.sglang, os.environ.get("PYTHONPATH", "")) if path]
    foreign = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    counts = [int(count) for count in options.streams.split(",")]
    print(f"CPU µs a token, and how many times that of {PEERS[0]}; {options.tokens} tokens a stream")
    print(f"{'streams':24}" + "".join(f"{count:>22,}" for count in counts))
    base: dict[int, float] = {}
    for peer in PEERS:
        is_ours = peer.startswith("ours")
        cells = []
        for count in counts:
            given = [peer, str(count), str(options.tokens), str(options.repeat), str(int(options.cap))]
            python = sys.executable if is_ours else options.python
            found = run_apart(
                python, foreign if not is_ours else dict(os.environ), *given, script="streams.py"
            )
            cells.append(cell(found, base.setdefault(count, found.get("us_per_token", float("nan")))))
        print(f"{peer:24}" + "".join(f"{text:>22}" for text in cells), flush=True)


def cell(found: dict[str, Any], base: float) -> str:
    if "us_per_token" not in found:
        return str(found["status"])
    mark = {"ok": "", "wrong": " ✗", "capped": " …"}[found["status"]]
    return f"{found['us_per_token']:.3f} = {found['us_per_token'] / base:.1f}×{mark}"


if __name__ == "__main__":
    main()
