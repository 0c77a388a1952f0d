"""Schemas are normalised so that what a grammar admits is valid, and what is valid is admitted."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
import unspool
from hypothesis import given, settings
from hypothesis import strategies as st
from unspool.core.schema.schema import ObjectOf
from unspool.core.schema.schema_check import check
from unspool.core.schema.schema_json import schema_json
from unspool.errors import ArgumentError
from unspool.writing.grammar.json_answer import json_grammar
from unspool.writing.schemas.json_schema import NormalisedSchema, normalise, normalise_arguments

from .byte_walks import admits, walk
from .keyword_soup import keyword_soup
from .schemas import Case, cases, schemas, spellings

OBJECT = {"type": "object"}


@given(cases())
@settings(deadline=None)
def test_every_valid_value_is_admitted(case: Case) -> None:
    assert check(case.value, case.schema) == []
    grammar = json_grammar(case.schema)
    assert grammar.dropped == ()
    for text in spellings(case.value):
        assert admits(grammar.text, text), (text, case.schema)


@given(schemas(), st.integers(0, 2**32))
@settings(deadline=None)
def test_everything_admitted_is_valid(schema: Any, seed: int) -> None:
    text = walk(json_grammar(schema).text, seed)
    if text is not None:
        assert check(json.loads(text), schema) == [], text


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_keywords_at_random(first: int) -> None:
    for seed in range(first, first + 50):
        schema = keyword_soup(seed)
        with suppress(ArgumentError):
            grammar = json_grammar(schema)
            text = walk(grammar.text, seed, 800)
            if text is not None and grammar.dropped == ():
                assert check(json.loads(text), schema) == [], (text, schema)


@pytest.mark.parametrize("syntax", ["lark", "structural_tag", "gbnf"])
def test_malformed_schemas_raise_one_error(syntax: Any) -> None:
    for seed in range(300):
        schema = keyword_soup(seed, broken=True)
        with suppress(ArgumentError):
            json_grammar(schema, syntax=syntax)
        with suppress(ArgumentError):
            check({"a": [1, "b", None]}, schema)


def test_none_is_any_object() -> None:
    text = json_grammar(None).text
    assert admits(text, '{"a": [1, {"b": null}]}')
    assert admits(text, "{}")
    assert not admits(text, "[]")


def test_white_space_is_bounded() -> None:
    text = json_grammar(None).text
    assert admits(text, '{\n    "a": 1\n}')
    assert not admits(text, '{"a":' + " " * 9 + "1}")
    assert not admits(text, ' {"a":1}')


def shape_of(schema: Any, **options: Any) -> Any:
    return as_json(normalise(schema, **options))


def as_json(found: NormalisedSchema) -> Any:
    made, definitions = schema_json(found.schema), found.definitions
    if not definitions:
        return made
    return {**made, "$defs": {name: schema_json(one) for name, one in definitions.items()}}


def dropped(schema: Any, **options: Any) -> list[tuple[str, str]]:
    return [(found.path, found.keyword) for found in normalise(schema, **options).dropped]


@pytest.mark.parametrize(
    ("schema", "normalised"),
    [
        (None, {"type": "object", "additionalProperties": {}}),
        (True, {}),
        ({}, {}),
        ({"type": ["integer", "null"]}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        ({"type": ["integer", "number"]}, {"type": "number"}),
        ({"minimum": 2}, {"type": "number", "minimum": 2}),
        ({"type": "string", "nullable": True}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (
            {"nullable": True, "allOf": [{"type": "string"}]},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ),
        ({"enum": ["a", 1, 1.0, None], "type": ["string", "null"]}, {"enum": ["a", None]}),
        ({"enum": ["a", "bb"], "maxLength": 1}, {"enum": ["a"]}),
        ({"const": True}, {"enum": [True]}),
        (
            {"type": ["integer", "string"], "maximum": 2, "maxLength": 3},
            {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer", "maximum": 2}]},
        ),
        ({"enum": [0.5, 2.0], "multipleOf": 1}, {"enum": [2]}),
        ({"enum": ["a", 9], "maximum": 2, "maxLength": 3}, {"enum": ["a"]}),
        (
            {"allOf": [{"minimum": 1}, {"maximum": 5, "type": "integer"}]},
            {"type": "integer", "minimum": 1, "maximum": 5},
        ),
        (
            {"type": "integer", "minimum": 0.5, "exclusiveMaximum": 3},
            {"type": "integer", "minimum": 1, "maximum": 2},
        ),
        (
            {"type": "number", "minimum": 1, "exclusiveMinimum": True},
            {"type": "number", "exclusiveMinimum": 1},
        ),
        ({"type": "number", "multipleOf": 5}, {"type": "integer", "multipleOf": 5}),
        ({"type": "string", "pattern": "b"}, {"type": "string", "pattern": "b"}),
        (
            {"oneOf": [{"type": "string"}, {"type": "null"}]},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ),
        ({"anyOf": [{"type": "string"}, False]}, {"type": "string"}),
        (
            {"type": "array", "items": [{"type": "null"}], "additionalItems": False},
            {"type": "array", "prefixItems": [{"type": "null"}], "maxItems": 1},
        ),
        (
            {**OBJECT, "properties": {"a": {"type": "null"}}, "required": ["a", "z"]},
            {
                **OBJECT,
                "properties": {"a": {"type": "null"}, "z": {}},
                "required": ["a", "z"],
                "additionalProperties": False,
            },
        ),
        (
            {
                "allOf": [{"$ref": "#/$defs/A"}, {"properties": {"b": {"type": "null"}}}],
                "$defs": {"A": {"required": ["a"]}},
            },
            {
                **OBJECT,
                "properties": {"b": {"type": "null"}, "a": {}},
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
        (
            {**OBJECT, "additionalProperties": {"type": "null"}, "propertyNames": {"enum": ["a"]}},
            {**OBJECT, "properties": {"a": {"type": "null"}}, "additionalProperties": False},
        ),
        (
            {**OBJECT, "patternProperties": {"^x": {"type": "null"}}},
            {
                **OBJECT,
                "patternProperties": {"^x": {"type": "null"}},
                "additionalProperties": False,
            },
        ),
    ],
)
def test_keywords_are_normalised(schema: Any, normalised: Any) -> None:
    found = normalise(schema)
    assert as_json(found) == normalised
    assert found.dropped == ()


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"not": {"type": "string"}}, [("#", "not")]),
        ({"type": "integer", "if": {"minimum": 1}, "then": {}}, [("#", "if")]),
        ({"type": "array", "contains": {}, "uniqueItems": True}, [("#", "contains"), ("#", "uniqueItems")]),
        ({"type": "string", "format": "iban"}, [("#", "format")]),
        ({"type": "string", "pattern": "(?=a)"}, [("#", "pattern")]),
        ({"type": "string", "format": "uri", "maxLength": 9}, [("#", "maxLength")]),
        ({"type": "number", "multipleOf": 0.01, "minimum": 3}, [("#", "multipleOf")]),
        ({"type": "number", "maximum": 1e300}, [("#", "maximum")]),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, [("#", "oneOf")]),
        ({"oneOf": [{"properties": {"a": {}}}, {"type": "string"}]}, [("#", "oneOf")]),
        ({"$ref": "https://example.org/schema"}, [("#", "$ref")]),
        ({"enum": [{"a": 1}], "maxProperties": 0}, [("#", "maxProperties")]),
        ({**OBJECT, "properties": {"x/y": {"not": {"type": "null"}}}}, [("#/properties/x~1y", "not")]),
        ({**OBJECT, "properties": {"a": {}, "b": {}}, "minProperties": 2}, [("#", "minProperties")]),
        (
            {**OBJECT, "properties": {"a": {}}, "dependentRequired": {"a": ["b"]}},
            [("#", "dependentRequired")],
        ),
        (
            {
                **OBJECT,
                "properties": {"a": {}},
                "patternProperties": {"^x": {}},
                "additionalProperties": True,
            },
            [("#", "patternProperties")],
        ),
    ],
)
def test_what_no_grammar_enforces_is_listed(schema: Any, expected: list[tuple[str, str]]) -> None:
    assert dropped(schema) == expected
    assert json_grammar(schema).dropped == normalise(schema).dropped


@pytest.mark.parametrize(
    ("schema", "value", "keyword"),
    [
        ({"not": {"const": 1}}, 1, "not"),
        ({"uniqueItems": True}, [1, 1.0], "uniqueItems"),
        ({"multipleOf": 0.1}, 0.35, "multipleOf"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 1, "oneOf"),
        ({"if": {"type": "integer"}, "then": {"minimum": 3}}, 1, "minimum"),
        ({"dependencies": {"a": ["b"]}}, {"a": 1}, "dependencies"),
        ({"minimum": 5, "exclusiveMinimum": True}, 5, "exclusiveMinimum"),
        ({"maximum": 5, "exclusiveMaximum": True}, 5, "exclusiveMaximum"),
        ({"pattern": "^a+$"}, "ab", "pattern"),
        (
            {"properties": {}, "patternProperties": {"^x": {"type": "null"}}, "additionalProperties": False},
            {"x": 1},
            "type",
        ),
        (
            {"properties": {}, "patternProperties": {"^x": {}}, "additionalProperties": False},
            {"y": 1},
            "additionalProperties",
        ),
        ({"items": [{"type": "null"}], "additionalItems": {"type": "string"}}, [None, 1], "type"),
        (False, 1, "false"),
        (None, [], "type"),
    ],
)
def test_a_value_that_does_not_fit_is_found(schema: Any, value: Any, keyword: str) -> None:
    assert [found.rule for found in check(value, schema)] == [keyword]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "nullable": True, "enum": ["a"]}, None),
        ({"$ref": "https://example.org/schema"}, 1),
        ({"multipleOf": 0.1}, 0.3),
        ({"pattern": "(?=a)b"}, "x"),
        ({"items": [{"type": "null"}]}, [None, 1]),
        ({"type": "integer"}, 1.0),
    ],
)
def test_a_value_that_fits_or_cannot_be_compared(schema: Any, value: Any) -> None:
    assert check(value, schema) == []


def test_a_malformed_schema_in_what_is_dropped() -> None:
    assert check(1, {"$ref": "#/nowhere"}) == []
    assert check(float("inf"), {"multipleOf": 2}) == []
    with pytest.raises(ArgumentError, match="the schema is malformed"):
        check(1, {"not": {"type": "float"}})


def test_checking_is_bounded() -> None:
    start = time.process_time()
    assert check("a" * 5000 + "b", {"pattern": "^(a+)+$"})
    value: Any = 1
    for _ in range(40):
        value = [value]
    node = {"type": "array", "items": {"$ref": "#/$defs/n"}}
    assert check(value, {"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [node, dict(node)]}}})
    for _ in range(460):
        value = [value]
    assert "too deeply" in check(value, {"$ref": "#/$defs/n", "$defs": {"n": node}})[0].message
    assert time.process_time() - start < 30


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (False, "no value fits the schema: # allows no value"),
        ({"type": "integer", "minimum": 5, "maximum": 3}, "fits the schema: no number is between the bounds"),
        (
            {"type": "string", "pattern": "^a{3}$", "maxLength": 2},
            "no text of this length matches the pattern",
        ),
        (
            {**OBJECT, "properties": {"a": False}, "required": ["a"]},
            "the required key 'a': #/properties/a allows",
        ),
        (
            {**OBJECT, "properties": {"n": {"$ref": "#"}}, "required": ["n"]},
            "refers to itself without an end, so no value is finite",
        ),
        (
            {
                **OBJECT,
                "properties": {"n": {"$ref": "#/$defs/t"}},
                "required": ["n"],
                "$defs": {"t": {"minLength": 3, "maxLength": 1}},
            },
            "no text has at least 3 and at most 1 characters",
        ),
        ({"anyOf": [{"type": "integer"}], "type": "string"}, "its keywords contradict one another"),
        ({"type": "array", "minItems": 3, "maxItems": 2}, "no list has at least 3 and at most 2 items"),
        ({"type": "float"}, "#/type: expected one or several of object"),
        ({"required": True}, "#/required: expected a list; got True"),
        ({"properties": {"a": 3}}, "#/properties/a: a schema is an object"),
        ({"$ref": "#/$defs/X"}, "leads nowhere"),
        ({"$ref": "#"}, "refers to itself and says nothing else"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {}]}}}, None),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}},
            "without an object",
        ),
        ({"enum": ["\ud800"]}, "lone surrogate"),
        ({"enum": [float("nan")]}, "not valid JSON"),
        ({"properties": {"\ud800": {}}}, "lone surrogate"),
        ({"minLength": -1}, "not negative"),
        ({"multipleOf": 0}, "above 0"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why(schema: Any, message: str | None) -> None:
    if message is None:
        normalise(schema)
        return
    with pytest.raises(ArgumentError) as raised:
        normalise(schema)
    assert message in str(raised.value)


def endless(levels: int) -> Any:
    schema: dict[str, Any] = {"type": "array"}
    inner = schema
    for _ in range(levels):
        inner["items"] = {"type": "array"}
        inner = inner["items"]
    return schema


def cyclic() -> Any:
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        endless(5000),
        cyclic(),
        {"allOf": [{"anyOf": [{"required": [f"{i}_{j}"]} for j in range(10)]} for i in range(10)]},
        {
            "$ref": "#/$defs/0",
            "$defs": {f"{i}": {"$ref": f"#/$defs/{i + 1}"} for i in range(5000)} | {"5000": {}},
        },
        {"type": "array", "items": {"enum": list(range(1_000_000))}},
        {"enum": [endless(5000)]},
    ],
)
def test_a_hostile_schema_is_refused_in_time(schema: Any) -> None:
    start = time.process_time()
    with pytest.raises(ArgumentError):
        normalise(schema)
    assert time.process_time() - start < 20


def test_a_large_schema_takes_linear_time() -> None:
    names = [f"key{i}" for i in range(2900)]
    start = time.process_time()
    properties = {name: {"type": "string"} for name in names}
    normalise(
        {**OBJECT, "properties": properties, "required": names, "additionalProperties": False}, strict=True
    )
    normalise(
        {**OBJECT, "additionalProperties": {"type": "null"}, "propertyNames": {"enum": names}}, syntax="gbnf"
    )
    names = names[:1400]
    tags = {name: {"properties": {"tag": {**OBJECT, "required": [name]}}} for name in names}
    normalise(
        {**OBJECT, "properties": {n: {"$ref": f"#/$defs/{n}/properties/tag"} for n in names}, "$defs": tags},
        syntax="gbnf",
    )
    assert time.process_time() - start < 20


def test_a_deep_stack_of_the_caller_is_no_crash() -> None:
    schema: Any = {"type": "integer"}
    for _ in range(60):
        schema = {**OBJECT, "properties": {"a": {"allOf": [schema]}}, "required": ["a"]}
    json_grammar(schema, syntax="gbnf")

    def call(frames: int) -> Any:
        return normalise(schema) if frames == 0 else call(frames - 1)

    with pytest.raises(ArgumentError, match="nests too deeply"):
        call(700)


def test_references_that_multiply_stay_shared() -> None:
    definitions: dict[str, Any] = {
        f"{i}": {"anyOf": [{**OBJECT, "properties": {"x": {"$ref": f"#/$defs/{i + 1}"}}}] * 2}
        for i in range(60)
    }
    found = normalise({"$ref": "#/$defs/0", "$defs": {**definitions, "60": {"type": "null"}}})
    assert len(found.definitions) <= 61
    assert len(json.dumps(as_json(found))) < 20_000


STRING_OR_NULL = {"anyOf": [{"type": "string"}, {"type": "null"}]}
NODE = {**OBJECT, "properties": {"n": {"allOf": [{"$ref": "#/$defs/node"}], "description": "next"}}}


@pytest.mark.parametrize(
    ("schema", "fits", "does_not"),
    [
        (
            {
                **OBJECT,
                "properties": {"a": {"type": "null"}, "b": {"type": "null"}},
                "allOf": [{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}],
            },
            ['{"a":null}', '{"b":null}', '{"a":null,"b":null}'],
            ["{}"],
        ),
        (
            {"maximum": 9, "allOf": [{"type": "integer", "oneOf": [{"minimum": 5}, {"maximum": -5}]}]},
            ["5", "9", "-7"],
            ["0", "10"],
        ),
        (
            {"type": "string", "allOf": [{"$ref": "#/$defs/u"}], "$defs": {"u": STRING_OR_NULL}},
            ['"a"'],
            ["null"],
        ),
        ({"type": "string", "$ref": "#/$defs/u", "$defs": {"u": STRING_OR_NULL}}, ['"a"'], ["null"]),
        (
            {
                "allOf": [{"$ref": "#/$defs/u"}, {"anyOf": [{"maxLength": 1}, {"type": "null"}]}],
                "$defs": {"u": STRING_OR_NULL},
            },
            ['"a"', "null"],
            ['"ab"', "1"],
        ),
        (
            {"$ref": "#/$defs/node", "$defs": {"node": NODE}},
            ["{}", '{"n":{}}', '{"n":{"n":{"n":{}}}}'],
            ['{"n":1}', '{"n":{"n":null}}'],
        ),
        ({**NODE, "$defs": {"node": NODE}}, ["{}", '{"n":{"n":{}}}'], ['{"n":{"n":1}}']),
    ],
)
def test_unions_and_references_beside_other_keywords(
    schema: Any, fits: list[str], does_not: list[str]
) -> None:
    text = json_grammar(schema).text
    assert [value for value in fits if not admits(text, value)] == []
    assert [value for value in does_not if admits(text, value)] == []


def test_what_no_finite_value_fits_is_taken_out() -> None:
    schema = {
        **OBJECT,
        "properties": {
            "a": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/endless"}]},
            "b": {"$ref": "#/$defs/endless"},
        },
        "$defs": {"endless": {**OBJECT, "properties": {"n": {"$ref": "#/$defs/endless"}}, "required": ["n"]}},
    }
    assert shape_of(schema) == {
        **OBJECT,
        "properties": {"a": {"type": "null"}},
        "additionalProperties": False,
    }


def test_another_key_cannot_spell_a_named_one() -> None:
    grammar = json_grammar(
        {**OBJECT, "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}}
    )
    assert admits(grammar.text, '{"a":1,"aa":"x"}')
    assert not admits(grammar.text, '{"a":1,"\\u0061":"x"}')
    assert not admits(grammar.text, '{"a":"x"}')


def test_more_keys_are_allowed_on_request() -> None:
    schema = {**OBJECT, "properties": {"a": {"type": "null"}}}
    assert shape_of(schema)["additionalProperties"] is False
    assert shape_of(schema, more_keys=True)["additionalProperties"] == {}


def test_arguments_are_an_object() -> None:
    for parameters in (None, {}, True):
        assert normalise_arguments(parameters).schema == ObjectOf()
    nothing = as_json(normalise_arguments({"type": "object", "properties": {}}))
    assert nothing == {"type": "object", "properties": {}, "additionalProperties": False}
    union = as_json(
        normalise_arguments({"anyOf": [{"properties": {"a": {"type": "null"}}}, {"type": "string"}]})
    )
    assert union["type"] == "object"
    with pytest.raises(ArgumentError, match="no value fits"):
        normalise_arguments({"type": "string"})


@pytest.mark.parametrize("syntax", ["lark", "structural_tag", "gbnf"])
def test_listed_texts_are_compared_for_every_syntax(syntax: Any) -> None:
    schema = {"enum": ["a", "bb", "b" * 200, 3], "maxLength": 100, "pattern": "^b", "minLength": 2}
    assert shape_of(schema, syntax=syntax) == {"enum": ["bb", 3]}
    assert dropped(schema, syntax=syntax) == []


@pytest.mark.parametrize("syntax", ["structural_tag", "gbnf"])
def test_long_texts_are_not_counted_for_xgrammar(syntax: Any) -> None:
    for schema in ({"maxLength": 120}, {"minLength": 40}, {"pattern": "^a{50}$"}):
        assert dropped({"type": "string", **schema}, syntax=syntax) == [("#", *schema)]
        assert dropped({"type": "string", **schema}) == []
    for short in ({"minLength": 1}, {"maxLength": 32}, {"pattern": '^"$'}):
        assert dropped({"type": "string", **short}, syntax=syntax) == []


STRICT = {**OBJECT, "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "string"}, "strict needs an object at the root"),
        ({**STRICT, "anyOf": [{}]}, "no anyOf at the root"),
        ({**STRICT, "additionalProperties": True}, '"additionalProperties": false in every object; add it'),
        ({**STRICT, "required": []}, "every property in \"required\"; add 'a'"),
        ({**STRICT, "required": ["a", "b"]}, "\"required\" has 'b'"),
        (
            {**STRICT, "properties": {"a": {"type": "object"}}},
            '#/properties/a: strict needs "additionalProperties"',
        ),
        ({**STRICT, "properties": {"a": {}}}, "#/properties/a: strict needs a type"),
        (
            {**STRICT, "properties": {"a": {"type": "string", "allOf": []}}},
            "does not permit 'allOf'; remove it",
        ),
        (
            {**STRICT, "properties": {"a": {"type": "array", "items": {"oneOf": []}}}},
            "#/properties/a/items: strict does",
        ),
        ({**STRICT, "$defs": {"x": {"type": "object"}}}, "#/$defs/x: strict needs"),
        ({**STRICT, "properties": {"a": {"$ref": "http://x"}}}, "move 'http://x' into $defs"),
    ],
)
def test_strict_says_what_to_change(schema: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        json_grammar(schema, strict=True)
    assert message in str(raised.value)


def test_strict_takes_what_openai_takes() -> None:
    schema = {
        **STRICT,
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}},
        "$defs": {"n": STRICT},
    }
    assert normalise(schema, strict=True) == normalise(schema)


def test_bad_syntax() -> None:
    with pytest.raises(ArgumentError, match="syntax must be one of lark"):
        json_grammar({}, syntax="ebnf")  # type: ignore[arg-type]


def test_it_is_public() -> None:
    assert unspool.json_grammar is json_grammar
