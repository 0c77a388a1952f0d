"""A call of another family, or without its markers, counts only if its arguments fit the whole schema of its tool."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import unspool
from unspool.core.schema.schema_check import check
from unspool.errors import ArgumentError

from ..writing.grammar.keyword_soup import keyword_soup
from ..writing.grammar.typed_schemas import typed_schema


def fits(parameters: Any, arguments: Any) -> bool:
    """Whether a call in another family's format counts; `arguments` may be JSON text."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    output = f'<tool_call>\n{{"name": "f", "arguments": {text}}}\n</tool_call>'
    tools = [{"name": "f", "parameters": parameters}]
    message = unspool.parse(output, "mistral", tools, also="hermes")
    assert message.tool_calls or message.content == output
    return bool(message.tool_calls)


def of(schema: Any, **beside: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, **beside}


_TREE = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "n": {"type": "integer"},
                "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "required": ["n"],
        }
    },
    "properties": {"a": {"$ref": "#/$defs/tree"}},
}

#: A schema of the argument `a`, values that fit it, and values that do not.
VALUES: list[tuple[Any, list[Any], list[Any]]] = [
    ({"type": "integer"}, [1, -3, 2.0, 10**30], [1.5, "1", None, True]),
    ({"type": ["string", "null"]}, ["", None], [0, False, [], {}]),
    ({"enum": ["a", 1, None, [1, {"b": 2}]]}, ["a", 1, 1.0, None, [1.0, {"b": 2}]], ["b", 2, True, [1], [1, {}]]),
    ({"const": {"x": 1, "y": 2}}, [{"y": 2, "x": 1}], [{"x": 1}, {"x": 1, "y": 2, "z": 3}]),
    ({"minimum": 5, "maximum": 9}, [5, 9, 7.5, "text"], [4, 4.999, 9.01]),
    ({"exclusiveMinimum": 5, "exclusiveMaximum": 9}, [5.01, 8], [5, 9, 5.0]),
    ({"minimum": 5, "exclusiveMinimum": True}, [6], [5]),
    ({"multipleOf": 0.1}, [0.3, 1, -7.7, 0], [0.35, 1e-3]),
    ({"multipleOf": 3}, [9, 3e2, -3], [10, 1, 1e300]),
    ({"minLength": 2, "maxLength": 3}, ["ab", "日本語", 5], ["a", "abcd", ""]),
    ({"pattern": r"^\d{3}-[a-z]+$"}, ["123-a", 5], ["12-a", "123-A", "x123-a", "123-a\n"]),
    ({"pattern": "b"}, ["abc"], ["ac"]),
    ({"pattern": r"^[^\s\u{1F600}]$"}, ["a", "日"], [" ", "\ufeff", "😀", "ab"]),
    ({"pattern": r"^(?<year>\d{4})|x$"}, ["2024", "2024a", "ax"], ["a"]),
    ({"pattern": "(?=a)b"}, ["anything"], []),
    ({"pattern": "("}, ["anything"], []),
    ({"minItems": 1, "maxItems": 2}, [[1], [1, 2]], [[], [1, 2, 3]]),
    ({"items": {"type": "integer"}}, [[], [1, 2]], [[1, "2"], ["x"]]),
    ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, [["a", 1], []], [[1], ["a", "b"]]),
    ({"items": [{"type": "string"}], "additionalItems": False}, [["a"]], [["a", 1]]),
    ({"uniqueItems": True}, [[1, 2, "1"], [[1], [2]]], [[1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1}]]),
    ({"contains": {"const": 1}}, [[2, 1]], [[2], []]),
    ({"contains": {"const": 1}, "minContains": 2, "maxContains": 2}, [[1, 1]], [[1], [1, 1, 1]]),
    ({"anyOf": [{"type": "string"}, {"minimum": 5}]}, ["a", 6], [4]),
    ({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, [4, 5.5], [6, 4.5]),
    ({"allOf": [{"minimum": 5}, {"maximum": 6}]}, [5], [4, 7]),
    ({"not": {"type": "string"}}, [1, None], ["a"]),
    ({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}}, ["ab", 2], ["a", 1]),
    ({"type": "string", "nullable": True, "enum": ["a"]}, ["a", None], ["b"]),
    ({"properties": {"b": {"type": "integer"}}, "required": ["b"]}, [{"b": 1}, {"b": 1, "c": 2}], [{}, {"b": "1"}]),
    ({"properties": {"b": {}}, "additionalProperties": False}, [{"b": 1}, {}], [{"c": 1}]),
    ({"additionalProperties": {"type": "integer"}}, [{"x": 1}], [{"x": "1"}]),
    ({"patternProperties": {"^n": {"type": "integer"}}}, [{"n1": 1, "x": "a"}], [{"n1": "a"}]),
    ({"propertyNames": {"maxLength": 2}}, [{"ab": 1}], [{"abc": 1}]),
    ({"minProperties": 1, "maxProperties": 1}, [{"a": 1}], [{}, {"a": 1, "b": 2}]),
    ({"dependentRequired": {"b": ["c"]}}, [{"b": 1, "c": 2}, {"c": 1}], [{"b": 1}]),
    ({"dependentSchemas": {"b": {"maxProperties": 1}}}, [{"b": 1}], [{"b": 1, "c": 2}]),
    (True, [1, "a", None], []),
    (False, [], [1, None]),
    ({"$ref": "https://example.com/elsewhere"}, [1, "a"], []),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "good", "bad"), VALUES, ids=lambda part: str(part)[:60])
def test_each_keyword_counts(schema: Any, good: list[Any], bad: list[Any]) -> None:
    assert [fits(of(schema), {"a": value}) for value in good] == [True] * len(good)
    assert [fits(of(schema), {"a": value}) for value in bad] == [False] * len(bad)


@pytest.mark.parametrize(
    ("number", "bound", "is_above"),
    [
        ("9007199254740993", "9007199254740992", True),
        ("1234567890123456789", "1234567890123456789", False),
        ("1234567890123456790", "1234567890123456789", True),
        ("1234567890123456788.9", "1234567890123456789", False),
        ("-9223372036854775809", "-9223372036854775808", False),
        ("0.1000000000000000000001", "0.1", True),
        ("99.9999999999999999999", "100", False),
    ],
)
def test_numbers_are_compared_exactly(number: str, bound: str, is_above: bool) -> None:
    schema = f'{{"properties": {{"a": {{"exclusiveMinimum": {bound}}}}}}}'
    assert fits(schema, f'{{"a": {number}}}') == is_above
    listed = f'{{"properties": {{"a": {{"enum": [{bound}]}}}}}}'
    assert fits(listed, f'{{"a": {number}}}') == (number == bound)


def test_keys_that_the_tool_does_not_name() -> None:
    closed = {"properties": {"a": {}}}
    assert fits(closed, {"a": 1})
    assert not fits(closed, {"a": 1, "b": 2})
    assert fits({**closed, "additionalProperties": {"type": "integer"}}, {"b": 2})
    assert not fits({**closed, "additionalProperties": {"type": "integer"}}, {"b": "2"})
    assert fits({**closed, "patternProperties": {"^x-": {}}}, {"x-b": 2})
    assert not fits({**closed, "patternProperties": {"^x-": {}}}, {"b": 2})
    assert fits({"allOf": [closed, {"properties": {"b": {}}}]}, {"a": 1, "b": 2})
    assert not fits({"properties": {"a": {}}, "required": ["a"]}, {})
    assert not fits({"$ref": "#/$defs/A", "$defs": {"A": {**closed, "required": ["a"]}}}, {})


def test_a_schema_that_refers_to_itself() -> None:
    assert fits(_TREE, {"a": {"n": 1, "kids": [{"n": 2, "kids": []}]}})
    assert not fits(_TREE, {"a": {"n": 1, "kids": [{"n": 2, "kids": [{}]}]}})
    assert fits({"anyOf": [{"$ref": "#"}] * 3, "properties": {"a": {"type": "integer"}}}, {"a": 1})
    assert not fits({"anyOf": [{"$ref": "#"}] * 3, "properties": {"a": {"type": "integer"}}}, {"a": "1"})


def test_unmarked_calls_fit_too() -> None:
    tools = [{"name": "f", "parameters": of({"enum": ["x", "y"]})}]
    good = '{"name": "f", "arguments": {"a": "x"}}'
    assert unspool.parse(good, "hermes", tools, unmarked_calls=True).tool_calls
    bad = '{"name": "f", "arguments": {"a": "z"}}'
    message = unspool.parse(bad, "hermes", tools, unmarked_calls=True)
    assert (message.tool_calls, message.content) == ((), bad)


def doubling(depth: int) -> dict[str, Any]:
    names = {str(i): {"anyOf": [{"$ref": f"#/$defs/{i + 1}"}] * 2} for i in range(depth)}
    return {"$defs": {**names, str(depth): {"type": "string"}}}


HOSTILE = {
    "doubling": ({**doubling(40), "properties": {"a": {"$ref": "#/$defs/0"}}}, {"a": 1}),
    "doubling without references": (
        of(json.loads('{"anyOf":[' * 12 + '{"type":"string"},' * 12 + "{}" + "]}" * 12)), {"a": 1},
    ),
    "pattern": (of({"pattern": "(a|a|aa)*(a{1,300}){1,30}b"}), {"a": "a" * 20_000}),
    "patterns": (of({"allOf": [{"pattern": f"(?:(?:x{i}){{0,99}}){{0,99}}$"} for i in range(300)]}), {"a": "x"}),
    "empty repetitions": (of({"allOf": [{"pattern": "(?:(?:(?:){1000}){1000}){1000}" + "x" * i} for i in range(300)]}), {"a": "x"}),
    "enum": (of({"items": {"enum": [f"k{i}" for i in range(5000)]}}), {"a": ["k4999"] * 5000}),
    "unique": (of({"uniqueItems": True}), {"a": [list(range(50))] + [[i] * 20 for i in range(5000)]}),
    "chain": (
        {"$defs": {str(i): {"$ref": f"#/$defs/{i + 1}"} for i in range(50_000)}, "properties": {"a": {"$ref": "#/$defs/0"}}},
        {"a": 1},
    ),
    "deep value": ({**_TREE}, '{"a": ' + '{"n": 1, "kids": [' * 150 + "]}" * 150 + "}"),
    "many keys": (of({"properties": {f"k{i}": {} for i in range(3000)}}), {"a": {f"k{i}": 1 for i in range(3000)}}),
    "exponents": (of({"multipleOf": 1e-300}), '{"a": 1e300}'),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_ends(name: str) -> None:
    parameters, arguments = HOSTILE[name]
    fits(parameters, arguments)


@pytest.mark.parametrize("part", range(4))
def test_it_agrees_with_violations(part: int) -> None:
    """On generated schemas and values: what jsonschema finds no fault with fits, and nothing else."""
    rng = random.Random(part)
    compared = differing = 0
    for seed in range(part * 100, part * 100 + 100):
        schema = typed_schema(seed) if seed % 2 else of(keyword_soup(seed, broken=False))
        schema = {key: value for key, value in schema.items() if key != "required"}
        for _ in range(4):
            value = {"a" if "a" in schema["properties"] else "p": _value(rng, 3)}
            try:
                faults = check(value, schema)
            except ArgumentError:
                continue
            compared += 1
            differing += fits(schema, value) == bool(faults) and not _is_apart(schema, faults)
    assert compared > 200
    assert differing == 0


def _is_apart(schema: Any, faults: Any) -> bool:
    """Whether the schema has what is read differently, or refers to itself without end."""
    text = json.dumps(schema)
    return "unevaluated" in text or any(fault.rule == "$ref" for fault in faults)


def _value(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(9 if depth else 6)
    if kind > 6:
        return {rng.choice(["a", "b", "ab", "x y"]): _value(rng, depth - 1) for _ in range(rng.randrange(3))}
    if kind == 6:
        return [_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return rng.choice(["a", "abc", "", "2024-01-01", 0, 3, 5.5, 1.0, -2, None, True, False])
