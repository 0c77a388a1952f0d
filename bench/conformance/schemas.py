"""Counts what grammars make of schemas and labelled instances of others: ours beside the engines' own.

    python bench/conformance/schemas.py MASKBENCH/maskbench/data [--count 1000] [--seed 1] [--engines ours,llguidance,xgrammar]

The folder is that of a checkout of guidance-ai/jsonschemabench; a file has a schema and its tests. Instances are read as
they are written there, so a key in another order than the schema's counts as refused.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from llguidance import LLMatcher
from unspool import json_grammar
from unspool.writing.engines.large_stack import on_large_stack

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.writing.grammar.instances import COUNTS, Compile, count_instances
from tests.writing.grammar.matchers import LlguidanceMatcher, Matcher, XgrammarMatcher, xgrammar_compiler


def ours_in_llguidance(schema: Any) -> tuple[Matcher, bool]:
    grammar = json_grammar(schema)
    return LlguidanceMatcher(grammar.text), bool(grammar.dropped)


def ours_in_xgrammar(schema: Any) -> tuple[Matcher, bool]:
    grammar = json_grammar(schema, syntax="structural_tag")
    return XgrammarMatcher(grammar.text, "structural_tag"), bool(grammar.dropped)


def llguidance(is_lenient: bool) -> Compile:
    def compile(schema: Any) -> tuple[Matcher, bool]:
        text = LLMatcher.grammar_from_json_schema(json.dumps(schema), overrides={"lenient": is_lenient})
        return LlguidanceMatcher(text), False

    return compile


class _Compiled(XgrammarMatcher):
    def __init__(self, compiled: Any) -> None:
        import xgrammar

        self._matcher = xgrammar.GrammarMatcher(compiled, terminate_without_stop_token=False)


def xgrammar_schema(schema: Any) -> tuple[Matcher, bool]:
    try:
        return _Compiled(xgrammar_compiler().compile_json_schema(json.dumps(schema))), False
    except RuntimeError as error:
        raise ValueError(str(error)) from None


ENGINES: dict[str, Callable[[Any], tuple[Matcher, bool]]] = {
    "ours, Lark in llguidance": ours_in_llguidance,
    "ours, structural tag in xgrammar": ours_in_xgrammar,
    "llguidance, strict": llguidance(False),
    "llguidance, lenient": llguidance(True),
    "xgrammar": xgrammar_schema,
}


def groups(folder: Path, count: int, seed: int) -> Iterator[tuple[Any, list[tuple[Any, bool]]]]:
    names = sorted(folder.glob("*.json"))
    if not names:
        raise SystemExit(f"{folder} has no *.json; pass the folder maskbench/data of a checkout")
    for name in random.Random(seed).sample(names, min(count, len(names))):
        data = json.loads(name.read_text(encoding="utf-8"))
        yield data["schema"], [(test["data"], test["valid"]) for test in data.get("tests", ())]


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--count", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--engines", default="ours,llguidance,xgrammar")
    given = arguments.parse_args()
    print("| engine | " + " | ".join(COUNTS) + " |\n|---" + "|---:" * len(COUNTS) + "|")
    for name, compile in ENGINES.items():
        if name.split(",")[0] in given.engines.split(","):
            drawn = groups(given.folder, given.count, given.seed)
            found = on_large_stack(lambda drawn=drawn, compile=compile: count_instances(drawn, compile))  # type: ignore[misc]
            print(f"| {name} | " + " | ".join(f"{found[key]:,}" for key in COUNTS) + " |", flush=True)


if __name__ == "__main__":
    main()
