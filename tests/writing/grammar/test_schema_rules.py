"""Schemas as rules: what valid values are described, in JSON and as Python's literals, and as GBNF."""

from __future__ import annotations

import ast
import json
import random
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unspool.core.regular.format_patterns import FORMAT_PATTERNS
from unspool.core.regular.match_pattern import Matcher
from unspool.core.regular.schema_patterns import parse_pattern
from unspool.core.schema.schema_check import check
from unspool.writing.engines.gbnf import to_gbnf
from unspool.writing.grammar.json_answer import json_grammar, json_rules
from unspool.writing.rules.nodes import (
    EMPTY,
    Automaton,
    Chars,
    Choice,
    Literal,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
    Terminal,
)
from unspool.writing.rules.number_rules import number_rule
from unspool.writing.rules.written_values import PYTHON_VALUES
from unspool.writing.schemas.json_schema import normalise
from unspool.writing.schemas.other_keys import other_keys
from unspool.writing.schemas.schema_rules import SchemaRules

from .byte_walks import admits
from .node_matcher import describes
from .schemas import Case, cases, schemas, spellings

OBJECT = {"type": "object"}


def python_rules(schema: Any) -> Rules:
    rules = Rules({"start": EMPTY})
    found = normalise(schema, syntax="gbnf")
    rules.named["start"] = SchemaRules(rules, PYTHON_VALUES, found.definitions).value(found.schema)
    return rules


def sample(rules: Rules, rng: random.Random) -> str:
    """A text that the rules describe, at random; deep nesting ends soon."""

    def text(node: Node, depth: int) -> str:
        if isinstance(node, Literal):
            return node.text
        if isinstance(node, Chars):
            first, last = rng.choice(node.ranges)
            return chr(rng.randint(ord(first), min(ord(last), ord(first) + 300)))
        if isinstance(node, Reference):
            return text(rules.named[node.name], depth + 1)
        if isinstance(node, (Automaton, Terminal)):
            return text(node.part, depth)
        if isinstance(node, Sequence):
            return "".join(text(part, depth) for part in node.parts)
        if isinstance(node, Choice):
            return text(
                rng.choice(node.parts) if depth < 12 else min(node.parts, key=lambda part: size(part, 6)),
                depth,
            )
        assert isinstance(node, Repeat)
        most = node.least + 3 if node.most is None else node.most
        count = rng.randint(node.least, min(most, node.least + 3)) if depth < 12 else node.least
        return "".join(text(node.part, depth) for _ in range(count))

    def size(node: Node, levels: int) -> int:
        """The length of the shortest text, as far as so many rules show."""
        if levels == 0:
            return 99
        if isinstance(node, Reference):
            return size(rules.named[node.name], levels - 1)
        if isinstance(node, (Automaton, Terminal)):
            return size(node.part, levels)
        if isinstance(node, (Sequence, Choice)):
            sizes = [size(part, levels) for part in node.parts]
            return sum(sizes) if isinstance(node, Sequence) else min(sizes)
        if isinstance(node, Repeat):
            return node.least * size(node.part, levels) if node.least else 0
        return len(node.text) if isinstance(node, Literal) else 1

    return text(rules.named["start"], 0)


@given(cases())
@settings(deadline=None)
def test_every_valid_value_is_described(case: Case) -> None:
    found = normalise(case.schema, syntax="gbnf")
    rules = json_rules(found)
    if all(drop.keyword != "maxLength" for drop in found.dropped):
        for text in spellings(case.value):
            assert describes(rules, text), (text, to_gbnf(rules))


@given(schemas(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_every_text_described_is_valid(schema: Any, rng: random.Random) -> None:
    rules = json_rules(normalise(schema, syntax="gbnf"))
    for _ in range(5):
        text = sample(rules, rng)
        assert check(json.loads(text), schema) == [], text


@given(cases(2), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_values_as_pythons_literals(case: Case, rng: random.Random) -> None:
    rules = python_rules(case.schema)
    if not re.search(r"\\[xU]|\\u", repr(case.value)):
        assert describes(rules, repr(case.value)), repr(case.value)
    text = sample(rules, rng)
    assert check(ast.literal_eval(text), case.schema) == [], text


BOUNDS = st.one_of(st.integers(-2000, 2000), st.integers(-30_000, 30_000).map(lambda number: number / 100))


@given(
    st.sampled_from(["integer", "number"]),
    st.dictionaries(
        st.sampled_from(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]), BOUNDS, max_size=2
    ),
    st.lists(st.one_of(BOUNDS, st.integers(-9, 9)), max_size=6),
)
def test_numbers_between_bounds(kind: str, bounds: dict[str, Any], numbers: list[Any]) -> None:
    schema = {"type": kind, **bounds}
    try:
        found = normalise(schema, syntax="gbnf").schema
    except ValueError:
        assert not any(check(number, schema) == [] for number in numbers)
        return
    rules = Rules({"start": number_rule(found)})
    for number in [*numbers, *bounds.values()]:
        whole = int(number) if number == int(number) else number
        is_written = kind == "number" or isinstance(whole, int)
        assert describes(rules, str(whole)) == (is_written and check(whole, schema) == []), (whole, schema)
    for seed in range(5):
        text = sample(rules, random.Random(seed))
        assert check(json.loads(text), schema) == [], text
        assert abs(Decimal(text)) < 10**17 or "e" in text.lower()


@given(st.lists(st.text("abé", max_size=4), max_size=4), st.text("abé", max_size=5))
def test_other_keys(names: list[str], key: str) -> None:
    assert Matcher(other_keys(names)).matches(key) == (key not in names)


def test_a_key_like_a_long_name_is_none_of_the_others() -> None:
    matcher = Matcher(other_keys(["a" * 70, "b"]))
    assert not matcher.matches("a" * 70)
    assert not matcher.matches("a" * 64 + "x")
    assert matcher.matches("a" * 63 + "x")
    assert matcher.matches("bb")


@pytest.mark.parametrize(
    ("name", "fits", "does_not"),
    [
        ("date", ["2026-11-23"], ["2026-13-01", "2026-1-1"]),
        ("time", ["12:00:00Z", "23:59:59.5+01:00"], ["24:00:00Z", "12:00:00"]),
        ("date-time", ["2026-11-23T12:00:00Z"], ["2026-11-23 12:00:00"]),
        ("duration", ["P1D", "P1Y2M3DT4H", "PT5S", "P2W"], ["P", "PT", "P1DT", "P1W2D"]),
        ("email", ["a.b+c@d-e.org"], ["a@", ".a@b.c", "a b@c.d"]),
        ("hostname", ["a", "a-b.c"], ["-a", "a.", "a_b"]),
        ("ipv4", ["0.0.0.0", "255.10.1.99"], ["256.1.1.1", "1.1.1", "01.1.1.1"]),
        (
            "ipv6",
            ["::", "::1", "1::", "fe80::1:2", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::"],
            ["1:2", "1::2::3", ":::"],
        ),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567e89b12d3a456426614174000"]),
        ("uri", ["https://a.b/c?d=%20#e", "mailto:a@b"], ["a.b/c", "http://a b"]),
    ],
)
def test_formats(name: str, fits: list[str], does_not: list[str]) -> None:
    matcher = Matcher(parse_pattern(FORMAT_PATTERNS[name]))
    assert [text for text in fits + does_not if matcher.matches(text)] == fits


def test_gbnf_as_llama_cpp_reads_it() -> None:
    schema = {
        **OBJECT,
        "properties": {
            "a": {"type": "string", "minLength": 1, "maxLength": 3},
            "n": {"$ref": "#"},
            "z": {"const": 'x"\n^'},
        },
        "required": ["a"],
    }
    grammar = json_grammar(schema, syntax="gbnf")
    assert grammar.syntax == "gbnf"
    rules = dict(line.split(" ::= ", 1) for line in grammar.text.splitlines())
    assert next(iter(rules)) == "root"
    assert all(re.fullmatch("[a-zA-Z][a-zA-Z0-9-]*", name) for name in rules)
    assert rules["space"] == r"[\n ]{0,8}"
    assert r'"\"x\\\"\\n^\""' in grammar.text
    # A rule for each number of characters. Only the quote may follow the last of them.
    assert re.search(r'^text-\d+ ::= "\\""$', grammar.text, re.MULTILINE)
    assert len(re.findall(r'^text-\d+ ::= "\\"" \| text-\d+$', grammar.text, re.MULTILINE)) == 2
    bare = re.sub(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]', "", grammar.text)
    assert set(re.findall("[a-z][a-z0-9-]*", bare)) <= set(rules)


def test_names_of_rules() -> None:
    """No name of a definition is one of a rule: engines allow fewer letters than schemas."""
    definitions = {
        name: {**OBJECT, "properties": {"x": {"$ref": "#/$defs/" + name}}} for name in ("1", "root", "A-b")
    }
    schema = {
        **OBJECT,
        "properties": {name: {"$ref": f"#/$defs/{name}"} for name in definitions},
        "$defs": definitions,
    }
    text = json_grammar(schema, syntax="gbnf").text
    names = re.findall("^[^ ]+", text, re.MULTILINE)
    assert {"root", "definition", "definition-1", "definition-2"} <= set(names)
    assert not {"1", "A-b"} & set(names)
    assert len(names) == len(set(names))


def test_hyphens_in_classes() -> None:
    printed = [
        to_gbnf(Rules({"start": parse_pattern(pattern)}))
        for pattern in ["^[a-]$", "^[+--]$", "^[--9]$", "^[-]$", "^[^-]$", r"^[\^\]\[\\]$"]
    ]
    classes = ["[a-]", "[+-,-]", "[.-9-]", "[-]", "[^-]", r"[\[-\x5E]"]
    assert printed == [f"root ::= {one}\n" for one in classes]


def test_gbnf_through_llguidances_reader() -> None:
    converter = pytest.importorskip("llguidance.gbnf_to_lark")
    schema = {
        **OBJECT,
        "properties": {"a": {"type": "integer", "minimum": 2}, "b": {"enum": ["é", None]}},
        "required": ["b"],
    }
    lark = converter.gbnf_to_lark(json_grammar(schema, syntax="gbnf").text)
    assert admits(lark, '{"a": 12, "b": "é"}')
    assert admits(lark, '{"b":null}')
    assert not admits(lark, '{"a": 1, "b": "é"}')
    assert not admits(lark, '{"a": 12}')


def test_what_rules_cannot_say_is_dropped() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "multipleOf": 3001},
            "b": {"type": "string", "maxLength": 5000},
        },
    }
    assert [(drop.path, drop.keyword) for drop in json_grammar(schema, syntax="gbnf").dropped] == [
        ("#/properties/a", "multipleOf"),
        ("#/properties/b", "maxLength"),
    ]


def test_many_optional_keys_stay_small() -> None:
    schema = {**OBJECT, "properties": {f"key{i}": {"type": "string"} for i in range(300)}}
    assert len(json_grammar(schema, syntax="gbnf").text) < 300 * 400
