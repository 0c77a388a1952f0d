"""Runs all cases through unspool and the installed peers; README.md describes the comparison."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import stand_in  # noqa: E402
import unspool  # noqa: E402
from answers import Job  # noqa: E402
from unspool.core.format.compile_format import compile_format  # noqa: E402
from unspool.formats.format_file import get_format  # noqa: E402
from unspool.testing import Case, shipped_cases  # noqa: E402

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

STACKS = {"unspool": "ours", "vLLM": "vllm_stack", "SGLang": "sglang_stack"}
#: (stack, format): why nothing is run.
NOT_RUN = {
    ("vLLM", "beam"): "needs the checkpoint's response_template",
    ("SGLang", "beam"): "needs the checkpoint's response_template",
    ("vLLM", "hunyuan_a13b"): "streams by the ids of its own vocabulary",
}


def stack_names(stack: str) -> dict[str, tuple[str, str]]:
    """By family: the stack's tool parser and reasoning parser, "" if there is none."""
    key = stack.lower()
    listed = tomllib.loads((HERE.parent.parent / "docs" / "stack_names.toml").read_text())[key]
    names: dict[str, list[str]] = {}
    for place, kind in enumerate(("tools", "reasoning")):
        for name in listed[kind]:
            try:
                family = get_format(name).name
            except unspool.UnknownFormatError:
                continue
            entry = names.setdefault(family, ["", ""])
            if not entry[place] or name == family:
                entry[place] = name
    names |= tomllib.loads((HERE / "names.toml").read_text())[key]
    return {family: (pair[0], pair[1]) for family, pair in names.items()}


def tools_of(case: Case) -> list[dict[str, Any]]:
    """The request's tools; if none are given, one for each name that is called."""
    if case.tools is not None:
        return [{"parameters": {"type": "object", "properties": {}}, **tool} for tool in case.tools]
    names = dict.fromkeys(name for name, _, _ in case.calls) or ["f"]
    return [{"name": name, "parameters": {"type": "object", "properties": {}}} for name in names]


def strings_of(case: Case) -> list[str]:
    """The strings in the arguments, in the form that they may have in the output."""
    found: list[str] = []

    def visit(value: Any) -> None:
        if isinstance(value, str):
            found.extend((value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]))
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            visit(item)

    for _, arguments, status in case.calls:
        if status == "complete":
            visit(json.loads(arguments))
    return found


def job_of(
    case: Case, base: str, tokenizer: Any, names: tuple[str, str], is_peer: bool, stops: Iterable[str]
) -> Job:
    file = get_format(case.format)
    tokens = stand_in.tokens_of(tokenizer, stand_in.with_markers(base, ()), case.input, strings_of(case))
    if is_peer and case.format != "openai":
        tokens = before_stop(tokens, {*file.facts.ends, *stops})
    prompt = case.options.get("prompt")
    tags = file.facts.reasoning
    opened, closed = (tags.openers[0], tags.closers[0]) if tags else ("", "")
    thinks = None
    if prompt is not None and tags:
        thinks = compile_format(file).starts_in_reasoning(prompt)
        if not thinks and not prompt.rstrip().endswith(tags.closers):
            thinks = None
    complete = all(status == "complete" for _, _, status in case.calls)
    return Job(
        format=case.format,
        name=case.name,
        plain=complete and not case.malformed and case.finish_reason == "stop",
        tokens=tokens,
        tools=tools_of(case),
        prompt=prompt,
        thinks=thinks,
        finish_reason=case.finish_reason,
        names=names,
        prompts=(opened, opened + closed),
        reasons=bool(case.reasoning),
        options={} if is_peer else {"tools": case.tools, **case.options},
    )


def before_stop(tokens: list[tuple[int, str]], stops: set[str]) -> list[tuple[int, str]]:
    """Without the end-of-turn token, at which a server stops, and the text after it."""
    end = len(tokens)
    while end and (tokens[end - 1][1] in stops or not tokens[end - 1][1].strip()):
        end -= 1
    cut = next((i for i in range(end, len(tokens)) if tokens[i][1] in stops), len(tokens))
    return tokens[:cut]


def can_say(case: Case, names: tuple[str, str] | None) -> bool:
    """Whether a peer with these parsers could be right at all."""
    if names is None or set(case.options) - {"prompt"}:
        return False
    return bool((names[0] or not case.calls) and (names[1] or not case.reasoning) and any(names))


def run_apart(python: str, env: dict[str, str], module: str, data: dict[str, Any]) -> tuple[str, list[Any]]:
    """A worker's version and answers; it is restarted after a job that ends it."""
    found: list[Any] = []
    version = ""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(data, file)
        file.flush()
        while len(found) < len(data["jobs"]):
            command = [python, str(HERE / "worker.py"), module, file.name, str(len(found))]
            done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
            lines = done.stdout.splitlines()
            if not lines:
                raise RuntimeError((done.stderr.strip().splitlines() or ["it printed nothing"])[-1])
            version = json.loads(lines[0])["version"]
            found += [json.loads(line)["wrong"] for line in lines[1:]]
            if done.returncode:
                found.append(["its process ended"])
    return version, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the interpreter for vLLM and SGLang")
    parser.add_argument("--vllm", default=os.environ.get("UNSPOOL_BENCH_VLLM", ""))
    parser.add_argument("--sglang", default=os.environ.get("UNSPOOL_BENCH_SGLANG", ""))
    parser.add_argument("--formats", default="", help="comma-separated; all")
    parser.add_argument("--chunk", default="1,3,17,0", help="tokens a chunk; 0: the whole output at once")
    parser.add_argument("--json", default="", help="a file for every result")
    parser.add_argument("--quiet", action="store_true", help="no line for each difference")
    options = parser.parse_args()
    chunks = [int(chunk) for chunk in options.chunk.split(",")]
    wanted = {get_format(name).name for name in options.formats.split(",") if name}
    cases = [case for case in shipped_cases() if not wanted or case.format in wanted]
    paths = {"vLLM": options.vllm, "SGLang": options.sglang}
    with ThreadPoolExecutor(2) as pool:
        runs = {
            stack: pool.submit(run_stack, stack, cases, chunks, options.python, paths.get(stack))
            for stack in STACKS
        }
    rows, versions = [], []
    for stack, run in runs.items():
        version, answers = run.result()
        rows += answers
        versions.append(f"{stack} {version}")
    print(f"{', '.join(versions)}; {len(cases)} cases\n")
    for plain, title in (
        (True, "Plain"),
        (False, "Cut off or malformed (names, and arguments as far as they go)"),
    ):
        print(f"## {title}\n\n{table([row for row in rows if row['plain'] == plain], chunks)}\n")
    if not options.quiet:
        print("## Differences\n")
        print("\n".join(lines_of(rows)))
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1, ensure_ascii=False))


def run_stack(
    stack: str, cases: list[Case], chunks: list[int], python: str, path: str | None
) -> tuple[str, list[dict[str, Any]]]:
    """A stack's version, and a row for each applicable case and chunk size."""
    is_peer = stack != "unspool"
    if is_peer and not path:
        return f"is missing (give --{stack.lower()} and --python)", []
    names = stack_names(stack) if is_peer else {}
    base = stand_in.train(case.input for case in shipped_cases())
    more = tomllib.loads((HERE / "names.toml").read_text())
    extra, stops = more["tokens"], more["stops"]
    tokenizers: dict[frozenset[str], Any] = {}

    def markers_of(case: Case) -> frozenset[str]:
        markers = {*get_format(case.format).facts.marker_tokens, *extra.get(case.format, ())}
        used = stand_in.spelling(markers, f"{case.input}{case.options.get('prompt', '')}")
        if used not in tokenizers:
            tokenizers[used] = stand_in.with_markers(base, used)
        return used

    asked = [
        case
        for case in cases
        if not is_peer or ((stack, case.format) not in NOT_RUN and can_say(case, names.get(case.format)))
    ]
    used = [markers_of(case) for case in asked]
    order = {markers: place for place, markers in enumerate(tokenizers)}
    jobs = [
        job_of(
            case,
            base,
            tokenizers[markers],
            names.get(case.format, ("", "")),
            is_peer,
            stops.get(case.format, ()),
        )
        for case, markers in zip(asked, used)  # noqa: B905
    ]
    data = {
        "tokenizers": [tokenizer.to_str() for tokenizer in tokenizers.values()],
        "jobs": [
            {
                "job": asdict(job),
                "chunk": chunk,
                "tokenizer": order[markers],
                "expected": {"content": case.content, "reasoning": case.reasoning, "calls": case.calls},
            }
            for case, job, markers in zip(asked, jobs, used)  # noqa: B905
            for chunk in chunks
        ],
    }
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(
        [path or str(Path(unspool.__file__).parent.parent), env.get("PYTHONPATH", "")]
    )
    try:
        version, found = run_apart(python if is_peer else sys.executable, env, STACKS[stack], data)
    except RuntimeError as error:
        return f"cannot run ({error})", []
    return version, [
        {
            "stack": stack,
            "format": entry["job"]["format"],
            "case": entry["job"]["name"],
            "plain": entry["job"]["plain"],
            "chunk": entry["chunk"],
            "wrong": wrong,
        }
        for entry, wrong in zip(data["jobs"], found)  # noqa: B905
    ]


def table(rows: list[dict[str, Any]], chunks: list[int]) -> str:
    """Right / asked, one line per format."""
    asked, right = Counter[Any](), Counter[Any]()
    for row in rows:
        for format in (row["format"], "**all**"):
            key = (format, row["stack"], row["chunk"])
            asked[key] += 1
            right[key] += not row["wrong"]
    columns = [(stack, chunk) for stack in STACKS for chunk in chunks]
    lines = [
        "| format | " + " | ".join(f"{stack} {chunk or 'whole'}" for stack, chunk in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for format in [*sorted({row["format"] for row in rows}), "**all**"]:
        keys = [(format, stack, chunk) for stack, chunk in columns]
        cells = [f"{right[key]}/{asked[key]}" if asked[key] else "–" for key in keys]
        lines.append(f"| {format} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def lines_of(rows: list[dict[str, Any]]) -> Iterable[str]:
    """One entry for each case, stack and difference, with the chunk sizes that show it."""
    sizes: dict[tuple[str, str, str, str], list[str]] = {}
    for row in rows:
        for what in row["wrong"]:
            key = (row["format"], row["case"], row["stack"], what)
            sizes.setdefault(key, []).append(str(row["chunk"] or "whole"))
    for (format, case, stack, what), chunks in sorted(sizes.items()):
        yield f"- {format}: {case} — {stack} {', '.join(chunks)}: {what}"


if __name__ == "__main__":
    main()
