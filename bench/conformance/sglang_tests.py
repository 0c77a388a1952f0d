"""SGLang's own parser tests, with our detectors in place of theirs.

    python bench/conformance/sglang_tests.py --tests CHECKOUT/test/registered/unit --python OTHER/bin/python \\
        --sglang PATH/sglang-unpacked

`CHECKOUT` is SGLang's repository (its tests are in no package). Each test runs twice: with SGLang's own detectors,
which shows the tests that are not of this version, and with ours. Every test that only we fail must stand in
sglang_tests.toml with a judgement; the report is sglang_tests.md. Exits with 1 where one is unknown, or passes by now.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
JUDGEMENTS = {
    "internals": "it asks for an attribute or a buffer of their implementation",
    "policy": "both answers can be defended; ours is the format's documented one",
    "their fault": "what it asserts loses text, breaks JSON or depends on where the stream is cut",
    "ours": "a fault of ours",
}
# The meaning of their names; the registries' other names are formats or aliases of ours.
FORMATS = {
    "apertus2509": "apertus", "interns1": "internlm", "hunyuan": "hy_v3", "minimax-m2": "minimax_m2",
    "minimax-m3": "minimax_m3", "gpt-oss": "openai", "nemotron_3": "nemotron_v3", "trinity": "hermes",
    "deepseek-r1": "deepseek_r1", "deepseek-v3": "deepseek_v31", "deepseek-v4": "deepseek_v4",
    "deepseek-v41": "deepseek_v41", "kimi": "kimi", "minimax": "qwen3", "interns1-reasoning": "qwen3",
}  # fmt: skip
_used: set[str] = set()


# ---- inside the test process -----------------------------------------------------------------------------


def swap() -> None:
    """Put our detectors into SGLang's registries and modules, under their names."""
    import unspool
    from unspool.integrations import sglang as ours

    def subclass(base: type, own: type, name: str) -> type | None:
        try:
            file = unspool.get_format(FORMATS.get(name, name))
        except unspool.UnknownFormatError:
            return None
        is_known = file.has_tools if base is ours.ToolDetector else file.has_reasoning
        if not is_known:
            return None

        def __init__(self: Any, *args: Any, **options: Any) -> None:
            _used.add(file.name)
            options = {key: value for key, value in options.items() if key != "tokenizer"}
            base.__init__(self, *args, **options)

        return type(own.__name__, (base,), {"format": file, "own_class": own, "__init__": __init__})

    for registry, base in (
        (ours.FunctionCallParser.ToolCallParserEnum, ours.ToolDetector),
        (ours.ReasoningParser.DetectorMap, ours.ReasoningDetector),
    ):
        made: dict[type, type] = {}
        for name, own in list(registry.items()):
            mine = made.get(own) or subclass(base, own, name)
            if mine is None:
                continue
            made[own] = registry[name] = mine
            for module in {own.__module__, "sglang.srt.function_call.function_call_parser"}:
                if getattr(sys.modules[module], own.__name__, None) is own:
                    setattr(sys.modules[module], own.__name__, mine)


def pytest_configure(config: Any) -> None:  # noqa: ARG001
    """Swap before the tests are imported. Their helpers import a server's libraries, which the parser tests
    do not need."""
    helpers: Any = types.ModuleType("sglang.test.test_utils")
    helpers.CustomTestCase, helpers.maybe_stub_sgl_kernel = unittest.TestCase, lambda: None
    sys.modules[helpers.__name__] = helpers
    import_module("sglang.srt.function_call.function_call_parser")
    import_module("sglang.srt.parser.reasoning_parser")
    if os.environ.get("UNSPOOL_SWAP"):
        swap()


def pytest_runtest_setup(item: Any) -> None:  # noqa: ARG001
    """A new test."""
    _used.clear()


def pytest_runtest_teardown(item: Any) -> None:
    """Report which formats it used."""
    item.user_properties.append(("formats", ",".join(sorted(_used))))


# ---- the comparison --------------------------------------------------------------------------------------


def run(options: argparse.Namespace, *, ours: bool) -> dict[str, tuple[bool, str, str]]:
    """Run the tests; return whether each passed, the formats it used, and its message."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [
            options.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "-W", "ignore", "--timeout", "60",
            "-c", os.devnull, "--rootdir", str(options.tests), f"--junit-xml={report}", "-o", "junit_family=xunit1",
            "-p", "sglang_tests", *map(str, test_files(options.tests)),
        ]  # fmt: skip
        paths = [str(ROOT / "python"), str(HERE), *([str(options.sglang)] if options.sglang else [])]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "UNSPOOL_SWAP": "1" if ours else "",
            "HF_HUB_OFFLINE": "1",
        }
        subprocess.run(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
        results = {}
        for case in ET.parse(report).iter("testcase"):
            if case.find("skipped") is not None:
                continue
            fault = case.find("failure") if case.find("failure") is not None else case.find("error")
            formats = next(
                (p.get("value", "") for p in case.iter("property") if p.get("name") == "formats"), ""
            )
            name = f"{case.get('classname', '').rsplit('unit.', 1)[-1]}.{case.get('name')}"
            results[name] = (fault is None, formats, "" if fault is None else (fault.get("message") or ""))
        return results


def test_files(folder: Path) -> list[Path]:
    """The tests of detectors, without those of templates, grammars and names."""
    names = re.compile(
        r"_detector|function_call_parser|reasoning_parser|parallel_tool_calls|unknown_tool|zero_arg|parity"
    )
    return [
        path for part in ("function_call", "parser") for path in sorted((folder / part).glob("test_*.py"))
        if names.search(path.name) and "names" not in path.name
    ]  # fmt: skip


def main() -> int:
    """Run, compare, write the report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tests", type=Path, required=True, help="their test/registered/unit")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that imports SGLang")
    parser.add_argument("--sglang", type=Path, help="where SGLang is unpacked, if it is not installed")
    parser.add_argument("--show", action="store_true", help="print the message of each unjudged failure")
    options = parser.parse_args()
    theirs, ours = run(options, ours=False), run(options, ours=True)
    judged = tomllib.loads((HERE / "sglang_tests.toml").read_text(encoding="utf-8")).get("failure", [])
    why = {entry["test"]: entry for entry in judged}
    rows: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    unknown, failing = [], {}
    for name, (passed, formats, message) in ours.items():
        if not formats:
            continue
        stale = not theirs.get(name, (False, "", ""))[0]
        for format in formats.split(","):
            row = rows[format]
            row["tests"] += 1
            row["stale" if stale and not passed else "passed" if passed else "failed"] += 1
            if not passed and not stale:
                row[why.get(name, {}).get("judgement", "unknown")] += 1
        if not passed and not stale:
            failing[name] = (formats, why.get(name))
            if name not in why:
                unknown.append(name)
                if options.show:
                    print(f"---- {name} [{formats}]\n{message[:700]}")
    gone = [name for name in why if name not in failing]
    stale = sorted(name for name, (passed, *_) in theirs.items() if not passed)
    (HERE / "sglang_tests.md").write_text(report(rows, failing, stale, ours, theirs), encoding="utf-8")
    for name in unknown:
        print(f"NOT JUDGED: {name}")
    for name in gone:
        print(f"JUDGED, BUT IT PASSES OR IS NOT THERE: {name}")
    total = sum(1 for _, formats, _ in ours.values() if formats)
    print(f"{total} tests use our detectors; {total - len(failing)} pass or are stale, {len(failing)} fail")
    return 1 if unknown or gone else 0


def report(rows: Any, failing: Any, stale: list[str], ours: Any, theirs: Any) -> str:
    """The page."""
    used = {name for name, (_, formats, _) in ours.items() if formats}
    passed = sum(1 for name in used if ours[name][0])
    lines = [
        "# SGLang's own parser tests through our detectors",
        "",
        "Written by `sglang_tests.py`; the judgements are in `sglang_tests.toml`.",
        "",
        f"{len(used)} tests use a detector that we replace: {passed} pass, {len(failing)} fail. Of the "
        f"{len(theirs)} tests that ran, {len(stale)} fail with SGLang's own detectors too: they are of another version.",
        "",
        "| format | tests | passed | failed | " + " | ".join(JUDGEMENTS) + " | fail with theirs too |",
        "|---|---:|---:|---:|" + "---:|" * (len(JUDGEMENTS) + 1),
    ]
    for format, row in sorted(rows.items()):
        cells = [
            row["tests"],
            row["passed"],
            row["failed"],
            *(row[kind] for kind in JUDGEMENTS),
            row["stale"],
        ]
        lines.append(f"| {format} | " + " | ".join(str(cell or "") for cell in cells) + " |")
    lines += ["", "A test that uses two formats counts in both rows. The judgements:", ""]
    lines += [f"* **{kind}**: {text}." for kind, text in JUDGEMENTS.items()]
    lines += ["", "## Every failing test", "", "| test | format | judgement | why |", "|---|---|---|---|"]
    for name, (formats, entry) in sorted(failing.items()):
        short = name.replace("function_call.", "").replace("parser.", "")
        lines.append(
            f"| `{short}` | {formats} | {(entry or {}).get('judgement', '**?**')} | {(entry or {}).get('why', '')} |"
        )
    lines += ["", "## Fail with SGLang's own detectors", "", *(f"* `{name}`" for name in stale), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
