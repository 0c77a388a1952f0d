"""A schema of any size gives a grammar or an ArgumentError, in bounded memory and on an ordinary stack."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool.core.schema.schema import ListOf, Named, OneOf, Schema, Text
from unspool.errors import ArgumentError
from unspool.writing.engines.large_stack import on_large_stack
from unspool.writing.grammar.json_answer import json_grammar
from unspool.writing.rules.in_order import any_prefix, in_order
from unspool.writing.rules.nodes import EMPTY, Literal, Reference, Rules, sequence
from unspool.writing.rules.rule_depth import check_depth
from unspool.writing.schemas.schema_types import only, types_of

SCRIPT = Path(__file__).with_name("large_schemas.py")
STACK = 8 * 2**20
# What one schema may take at its peak, and what all of them may keep when they come again.
MOST_MIB = 200
KEPT_MIB = 60

# Nearly the largest that is read, in every path; the place of a chain or a nest is a level.
READ = [
    "required 2900", "optional 990", "mixed 1900", "open 990", "const 2900", "enum 2900", "objects 1400",
    "places 2900", "needed places 2900", "chain 190", "nested 60", "long value 190000",
]  # fmt: skip
REFUSED = [
    f"{kind} {count}"
    for kind in ("required", "optional", "const", "enum", "objects", "places", "needed places", "chain", "nested")
    for count in (3100, 100_000)
] + ["long value 5000000", "long name 5000000"]  # fmt: skip
PATHS = ["json", "hermes/answer", "qwen3_coder", "hermes", "pythonic", "glm47", "gemma4", "deepseek_v32"]


def run(path: str, lines: list[str]) -> list[dict[str, Any]]:
    """What the script prints, in a process whose stack is 8 MiB."""
    result = subprocess.run(
        [sys.executable, str(SCRIPT), path, *lines],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK)),
    )
    printed = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.returncode == 0, f"ended by {result.returncode} after {printed[-1:]}"
    return printed


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(
    "path", [PATHS[0], *(pytest.param(path, marks=pytest.mark.rest) for path in PATHS[1:])]
)
def test_a_schema_of_any_size(path: str) -> None:
    printed = run(path, [*READ, *REFUSED, *READ])
    kept = printed[-1]["resident"] - printed[2 * len(READ + REFUSED)]["resident"]
    assert kept <= KEPT_MIB, f"{kept} MiB are not given back"
    for before, after in zip(printed[0:-1:2], printed[1:-1:2], strict=True):
        line, refusal = after["line"], after["refusal"]
        assert after["peak"] - before["peak"] <= MOST_MIB, line
        if line in REFUSED:
            assert refusal, line
        elif path in ("json", "hermes/answer", "hermes"):
            # Elsewhere a format may be unable to write a key, or need several rules for a value.
            assert not refusal, (line, refusal)


@pytest.mark.parametrize("required", [[], [0], [4], [1, 3], [0, 1, 2, 3, 4], [2, 3, 4]])
def test_members_in_order(required: list[int]) -> None:
    rules = Rules()
    members = [(Literal(letter), index in required) for index, letter in enumerate("abcde")]
    texts = _texts(rules, in_order(rules, members, Literal(",")))
    wanted = set()
    for chosen in range(32):
        indices = [index for index in range(5) if chosen >> index & 1]
        if set(required) <= set(indices):
            wanted.add(",".join("abcde"[index] for index in indices))
    assert sorted(texts) == sorted(wanted), "each text once: the rules are not ambiguous"


def test_any_prefix() -> None:
    rules = Rules()
    items = [Literal(letter) for letter in "abcdefg"]
    texts = _texts(rules, any_prefix(rules, items, Literal(","), Literal("!")))
    assert sorted(texts) == sorted(
        [*("".join(f",{one}" for one in "abcdefg"[:count]) for count in range(7)), ",a,b,c,d,e,f,g!"]
    )
    assert any_prefix(rules, [], Literal(","), Literal("!")) == Literal("!")


def _texts(rules: Rules, node: Any) -> list[str]:
    """All texts of rules without recursion, each as often as it can be derived."""
    if isinstance(node, Literal):
        return [node.text]
    if isinstance(node, Reference):
        return _texts(rules, rules.named[node.name])
    if hasattr(node, "part"):
        return ["", *_texts(rules, node.part)]
    if type(node).__name__ == "Choice":
        return [text for part in node.parts for text in _texts(rules, part)]
    texts = [""]
    for part in node.parts:
        texts = [text + more for text in texts for more in _texts(rules, part)]
    return texts


def test_the_depth_of_many_members_is_small() -> None:
    rules = Rules({"start": EMPTY})
    members = [
        (rules.add("member", sequence(Reference("start"), Literal(str(i)))), i % 3 == 0) for i in range(5000)
    ]
    rules.named["start"] = in_order(rules, members, Literal(","))
    check_depth(rules)


def test_a_chain_of_rules_is_refused() -> None:
    rules = Rules(
        {"start": Reference("r0"), **{f"r{i}": Reference(f"r{i + 1}") for i in range(1200)}, "r1200": EMPTY}
    )
    with pytest.raises(ArgumentError, match="too deeply"):
        check_depth(rules)


def test_a_definition_that_many_use_is_counted_each_time() -> None:
    uses = {f"k{i}": {"anyOf": [{"$ref": "#/$defs/d"}, {"const": i}]} for i in range(100)}
    definitions = {"d": {"type": "object", "properties": {f"a{i}": {"type": "integer"} for i in range(400)}}}
    tools = [{"name": "f", "parameters": {"type": "object", "properties": uses, "$defs": definitions}}]
    with pytest.raises(ArgumentError, match="write out more than"):
        unspool.get_format("qwen3_coder").grammar(tools, strict=True)


def test_tools_are_counted_together() -> None:
    properties = {f"p{i}": {"type": "integer"} for i in range(90)}
    tools = [{"name": f"f{i}", "parameters": {"type": "object", "properties": properties}} for i in range(60)]
    with pytest.raises(ArgumentError, match="offer fewer tools"):
        unspool.get_format("hermes").grammar(tools, strict=True)


def test_descriptions_are_free() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "description": "x" * 300_000}}}
    json_grammar(schema)


def test_a_large_stack() -> None:
    def depth(left: int) -> int:
        return 0 if left == 0 else 1 + depth(left - 1)

    assert on_large_stack(lambda: depth(500)) == 500
    with pytest.raises(ZeroDivisionError):
        on_large_stack(lambda: 1 // 0)


def test_unions_that_lead_to_one_another_are_walked_once() -> None:
    definitions: dict[str, Schema] = {"d25": Text(), "e25": ListOf(others=Named("d0"))}
    for level in range(25):
        both = (Named(f"d{level + 1}"), Named(f"e{level + 1}"))
        definitions |= {f"d{level}": OneOf(both), f"e{level}": OneOf(both[::-1])}
    start = Named("d0")
    assert types_of(start, definitions) == ("string", "array")  # 33 million ways lead there
    assert only("string", start, definitions) == Text()
    assert only("array", start, definitions) == definitions["e25"]


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "glm47"])
def test_a_schema_that_is_nothing_but_itself_is_refused(name: str) -> None:
    schema = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}
    with pytest.raises(ArgumentError, match="refers to itself"):
        unspool.get_format(name).grammar([{"name": "f", "parameters": schema}], strict=True)
