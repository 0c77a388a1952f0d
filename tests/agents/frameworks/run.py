"""Runs each framework of this folder: python -m tests.agents.frameworks.run FOLDER, which install.sh has filled.

`--write` keeps the results for docs/agents.md. The status is 1 if something that worked in the kept results works
no longer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from ..agent import Call
from ..model import ScriptedModel, Step
from ..results import Result, keep, kept
from ..run import NO_NETWORK
from ..scenario import thoughts_of
from ..server import Exchange, serving

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
#: How the script calls the tool, where a framework gives it a name of its own.
_TOOLS = {"semantic_kernel": "Plugin-get_weather"}
_KEY = ("framework", "api")
_APIS = ("chat", "responses", "messages", "google", "completions")
_LONGEST_S = 300


def run(name: str, folder: Path) -> list[Result]:
    """A result for each API that a framework speaks."""
    call = Call(_TOOLS.get(name, "get_weather"), {"city": "Paris"})
    steps = [Step("I must look.", "", (call,)), Step("Now I know.", "It is 21 degrees.")]
    models = {api: ScriptedModel("qwen3", steps) for api in _APIS}
    python = folder / name / "bin" / "python"
    home = folder / "homes" / name
    home.mkdir(parents=True, exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **_QUIET, **NO_NETWORK}
    with serving(models) as (address, exchanges):
        said = subprocess.run(
            [str(python), str(HERE / f"with_{name}.py"), address],
            cwd=home, env=env, capture_output=True, text=True, timeout=_LONGEST_S, check=False,
        )  # fmt: skip
    (home / "said.txt").write_text(said.stdout + said.stderr, encoding="utf-8")
    with (home / "exchanges.jsonl").open("w", encoding="utf-8") as log:
        log.writelines(exchange.to_json() + "\n" for exchange in exchanges)
    cases = [json.loads(line[5:]) for line in said.stdout.splitlines() if line.startswith("CASE ")]
    if not cases:
        raise RuntimeError(f"{name} does not start: {said.stderr[-2000:]}")
    return [
        _result(name, api, cases, thoughts_of(steps, models[api].prompts, of_api), of_api)
        for api in dict.fromkeys(case["api"] for case in cases)
        for of_api in [[exchange for exchange in exchanges if exchange.model == api]]
    ]


def _result(
    name: str, api: str, cases: list[dict[str, str]], thoughts: str, exchanges: list[Exchange]
) -> Result:
    return {
        "framework": name,
        "api": api,
        "cases": {case["case"]: case["fault"] for case in cases if case["api"] == api},
        "thoughts": thoughts,
        "ignored": sorted(
            {field for exchange in exchanges for field in exchange.ignored.split(", ") if field}
        ),
        "faults": sorted({exchange.fault for exchange in exchanges} - {""}),
    }


_QUIET = {
    "OTEL_SDK_DISABLED": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "DO_NOT_TRACK": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False", "AGNO_TELEMETRY": "false", "CREWAI_DISABLE_TELEMETRY": "true",
}  # fmt: skip


def main() -> int:
    """Runs them, and prints a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="frameworks: langchain,agno")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    names = sorted(path.stem.removeprefix("with_") for path in HERE.glob("with_*.py"))
    results: list[Result] = []
    for name in asked.only.split(",") if asked.only else names:
        for result in run(name, asked.folder.resolve()):
            results.append(result)
            print(json.dumps(result, ensure_ascii=False), flush=True)
    before = kept(RESULTS, *_KEY)
    broken = [
        f"{result['framework']} {result['api']}, {case}: {fault}"
        for result in results
        for case, fault in result["cases"].items()
        if fault and before.get(tuple(result[name] for name in _KEY), {"cases": {}})["cases"].get(case) == ""
    ]
    if asked.write:
        keep(RESULTS, results, *_KEY)
    print("\n".join(broken) or "nothing that worked is broken")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
