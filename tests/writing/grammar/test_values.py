"""Values that schemas admit are written and others are not, in every syntax and engine alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from unspool.writing.grammar.json_answer import json_grammar

from .matchers import LlguidanceMatcher, Matcher, XgrammarMatcher

OBJECT = {"type": "object"}
#: A schema, values that fit, and values that do not.
CASES: list[tuple[Any, list[str], list[str]]] = [
    # A number with an exponent is within the bounds too.
    ({"type": "number"}, ["1e-9", "1.5E+10", "-3", "8.854e-12"], ["1e400", "1e"]),
    ({"type": "number", "minimum": 0, "maximum": 1}, ["0", "1.0", "1e-9", "1.5e-07", "3E-5"], ["1e1", "1e0", "-1e-5"]),
    ({"type": "number", "minimum": -5}, ["1e6", "1.5e+06", "-1e-3", "-4.5"], ["-1e1", "-6"]),
    ({"type": "number", "maximum": -0.001}, ["-1e6", "-1e-3", "-5e-2"], ["-1e-4", "1e-9", "0"]),
    ({"type": "number", "exclusiveMinimum": 0.001}, ["1e-2", "0.002", "1e5"], ["1e-3", "1e-4"]),
    ({"type": "number", "minimum": 200, "maximum": 90000}, ["1e3", "9.9e+03", "90000"], ["1e2", "1e5", "1e4000"]),
    # Multiples.
    ({"type": "integer", "multipleOf": 5}, ["0", "5", "-10", "105"], ["7", "05", "1e1"]),
    ({"type": "integer", "multipleOf": 100, "minimum": 0}, ["0", "100", "1200"], ["-100", "10", "150"]),
    ({"type": "integer", "multipleOf": 7, "minimum": 1}, ["7", "14", "700"], ["0", "-7", "8"]),
    ({"type": "integer", "multipleOf": 5, "minimum": 1, "maximum": 20}, ["5", "20"], ["0", "25", "7"]),
    ({"type": "number", "multipleOf": 0.01}, ["1", "0.25", "12.3", "-3.99"], ["1.001", "1.", "01"]),
    ({"type": "number", "multipleOf": 0.25, "minimum": 0}, ["1", "0.25", "0.5", "2.75"], ["0.3", "0.35", "-1"]),
    ({"allOf": [{"multipleOf": 4}, {"multipleOf": 6}]}, ["12", "24", "0"], ["4", "6", "18"]),
    ({"enum": [0.02, 0.025, 3], "multipleOf": 0.01}, ["0.02", "3"], ["0.025"]),
    # Texts.
    ({"type": "string"}, [r'"caf\u00e9"', r'"\ud83d\ude00"', r'"a\/b"', '"\x7f"'], [r'"\ud800"', r'"\ud83dx"', r'"\x"']),
    ({"type": "string", "minLength": 1}, ['"a"', r'"\n"', r'"\u00e9"'], ['""']),
    ({"type": "string", "maxLength": 2}, ['""', r'"\n\""', '"日本"', r'"\ud83d\ude00"'], ['"abc"', '"\x01"']),
    ({"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}, ['"abc"'], ['"abcd"', '""', '"A"']),
    ({"type": "string", "pattern": '^"$'}, [r'"\""'], ['"""', '"a"']),
    ({"type": "string", "pattern": "^[^a]$"}, ['"b"', r'"\n"'], ['"a"', r'"\u0061"']),
    (
        {"type": "string", "format": "date"},
        ['"2024-02-29"', '"2000-02-29"', '"1999-12-31"', '"2023-02-28"', '"0004-02-29"', '"2023-04-30"'],
        ['"2023-02-29"', '"1900-02-29"', '"2024-02-30"', '"2024-04-31"', '"0000-01-01"', '"2024-13-01"', '"2024-01-00"'],
    ),
    ({"type": "string", "format": {"a": 1}}, ['"x"'], ["1"]),
    ({"format": "int32"}, ["3", '"3"', "null"], []),
    # Objects.
    (
        {**OBJECT, "properties": {"a": {"type": "null"}}, "patternProperties": {"^x-": {"type": "integer"}}},
        ['{"a":null,"x-1":5}', '{"x-1":5,"x-2":6}', "{}"],
        ['{"a":null,"y":1}', '{"x-1":null}'],
    ),
    ({**OBJECT, "properties": {"a": {}, "b": {}}, "minProperties": 1}, ['{"a":1}', '{"b":1}'], ["{}"]),
    ({**OBJECT, "additionalProperties": {"type": "null"}, "minProperties": 1}, ['{"a":null}'], ["{}"]),
    (
        {**OBJECT, "properties": {'q"': {"type": "null"}}, "additionalProperties": True},
        [r'{"q\"":null}', '{"x":"1"}'],
        [r'{"q\"":"1"}', r'{"\u0071\"":"1"}', r'{"q\u0022":"1"}'],
    ),
]  # fmt: skip


def matcher(schema: Any, syntax: Any, engine: str) -> Matcher:
    text = json_grammar(schema, syntax=syntax).text
    return LlguidanceMatcher(text) if engine == "llguidance" else XgrammarMatcher(text, syntax)


def admits(one: Matcher, text: str) -> bool:
    data = text.encode()
    one.restart()
    if one.admits(data) < len(data):
        return False
    one.take(data)
    return one.may_end()


@pytest.mark.parametrize(
    ("engine", "syntax"),
    [("llguidance", "lark"), ("xgrammar", "lark"), ("xgrammar", "structural_tag"), ("xgrammar", "gbnf")],
)
@pytest.mark.parametrize(("schema", "fits", "does_not"), CASES, ids=lambda case: str(case)[:60])
def test_values(schema: Any, fits: list[str], does_not: list[str], engine: str, syntax: Any) -> None:
    pytest.importorskip(engine)
    one = matcher(schema, syntax, engine)
    assert [text for text in fits if not admits(one, text)] == []
    assert [text for text in does_not if admits(one, text)] == []


@pytest.mark.parametrize("schema", [schema for schema, _, _ in CASES], ids=lambda schema: str(schema)[:60])
@pytest.mark.parametrize("syntax", ["lark", "structural_tag", "gbnf"])
def test_nothing_of_that_is_left_out(schema: Any, syntax: Any) -> None:
    assert {one.keyword for one in json_grammar(schema, syntax=syntax).dropped} <= {"format"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "multipleOf": 3001},
        {"type": "integer", "multipleOf": 5, "minimum": 33},
        {"type": "number", "multipleOf": 0.01, "maximum": 3},
        {**OBJECT, "properties": {"x-1": {}}, "patternProperties": {"^x-": {"type": "null"}}},
    ],
    ids=str,
)
def test_what_would_be_too_large_is_listed(schema: Any) -> None:
    for syntax in ("lark", "structural_tag", "gbnf"):
        assert [one.keyword for one in json_grammar(schema, syntax=syntax).dropped] == [
            list(schema)[1 if "multipleOf" in schema else 2]
        ]


def test_keys_whose_pattern_is_too_long_for_an_engine_are_any() -> None:
    schema = {
        "type": "object",
        "patternProperties": {"^[a-z]{1,255}$": {"type": "integer"}},
        "additionalProperties": False,
    }
    for syntax in ("lark", "structural_tag", "gbnf"):
        grammar = json_grammar(schema, syntax=syntax)  # type: ignore[arg-type]
        is_lark = syntax == "lark"
        matcher = LlguidanceMatcher(grammar.text) if is_lark else XgrammarMatcher(grammar.text, syntax)
        assert matcher.admits(b'{"abc":1}') == 9
        assert matcher.admits(b'{"abc":"') < 8
        assert bool(grammar.dropped) != is_lark


@pytest.mark.parametrize("depth", [1, 8, 30])
def test_a_schema_of_many_levels_is_read_by_each_engine(depth: int) -> None:
    """Its rules are deep, so that a structural tag has all of them as one grammar."""
    schema: Any = {"type": "array", "items": {"$ref": "#/$defs/node"}}
    value: Any = [{"next": {}}]
    for _ in range(depth):
        schema = {
            "type": "object",
            "properties": {"a": schema, "b": {"type": "integer"}},
            "required": ["a", "b"],
        }
        value = {"a": value, "b": 1}
    schema["$defs"] = {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}
    text = json.dumps(value).encode()
    matchers: list[Matcher] = [LlguidanceMatcher(json_grammar(schema).text)]
    matchers += [
        XgrammarMatcher(json_grammar(schema, syntax=syntax).text, syntax)
        for syntax in ("structural_tag", "gbnf")
    ]
    for matcher in matchers:
        assert matcher.admits(text) == len(text)
        assert matcher.admits(text.replace(b"1", b"x", 1)) < len(text)
