"""The parser and the grammar read a tool's schema each for itself: they must agree on the types of a parameter.

The law runs both ways. A text that the grammar writes as a type is read as this type. Where the grammar writes text, no
text is read as a type that the grammar does not write: it stays text, also if it is JSON.

Set UNSPOOL_READINGS to compare more generated schemas, such as 5000.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import unspool
from hypothesis import HealthCheck, given, settings
from unspool.core.regular.format_patterns import FORMAT_PATTERNS
from unspool.core.schema.keywords import KEYWORDS_OF_TYPE
from unspool.core.schema.schema import Nothing, ObjectOf, OneOf, follow
from unspool.errors import ArgumentError
from unspool.writing.schemas.json_schema import normalise_arguments
from unspool.writing.schemas.schema_types import ANY_TYPE, types_of

from .schemas import schemas
from .typed_schemas import WRITTEN, parameters, typed_schema

#: A text of each type, and its value. As text the parser would write each of them in quotes.
SAMPLES: dict[str, tuple[str, Any]] = {
    "integer": ("3", 3), "number": ("2.5", 2.5), "boolean": ("true", True), "null": ("null", None),
    "object": ('{"a": 1}', {"a": 1}), "array": ("[1]", [1]),
}  # fmt: skip
FIXED: list[Any] = [
    {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/T"}], "$defs": {"T": {"type": ["null", "array"]}}},
    {"allOf": [{"type": ["integer", "string"]}, {"type": ["integer", "null"]}]},
    {"oneOf": [{"const": 3}, {"enum": [True, None]}]},
    {"type": "boolean", "nullable": True},
    {"properties": {"a": {"type": "integer"}}},
]
#: The parser compares neither bounds nor lists of values with one another. It may read a type whose choice contradicts
#: itself; the grammar leaves that choice out.
CONTRADICTIONS = {3276, 3833, 4076}
GENERATED = int(os.environ.get("UNSPOOL_READINGS", "400"))
OUTPUTS = {
    "glm47": "<tool_call>f<arg_key>p</arg_key><arg_value>{}</arg_value></tool_call>",
    "qwen3_coder": "<tool_call>\n<function=f>\n<parameter=p>\n{}\n</parameter>\n</function>\n</tool_call>",
    "minimax_m2": '<minimax:tool_call>\n<invoke name="f">\n<parameter name="p">{}</parameter>\n</invoke>\n'
    "</minimax:tool_call>",
}


def types_written(whole: dict[str, Any]) -> tuple[str, ...]:
    """The types that the grammar writes for the parameter p; none if no value fits it."""
    try:
        found = normalise_arguments(whole)
    except ArgumentError:
        return ()
    made = found.schema
    while isinstance(made, OneOf):  # a union of objects
        made = follow(made.options[0], found.definitions)
    value = made.named.get("p", Nothing()) if isinstance(made, ObjectOf) else Nothing()
    return () if isinstance(value, Nothing) else types_of(value, found.definitions)


def read(whole: dict[str, Any], text: str, format: str = "glm47") -> Any:
    """The value that the parser reads between tags."""
    tools = [{"name": "f", "parameters": whole}]
    (call,) = unspool.parse(OUTPUTS[format].format(text), format, tools=tools).tool_calls
    return json.loads(call.arguments)["p"]


def disagreements(whole: dict[str, Any], types: tuple[str, ...], format: str = "glm47") -> Iterator[str]:
    """The texts that are read otherwise than these types say."""
    known = {*types, "integer", "number"} if {"number", "integer"} & set(types) else set(types)
    for name, (text, value) in SAMPLES.items():
        if name not in known and ("string" not in types or may_leave_out(whole, name)):
            continue
        if name == "number" and "number" not in types:
            continue  # no integer
        expected = value if name in known else text
        found = read(whole, text, format)
        if json.dumps(found) != json.dumps(expected):
            yield f"{text!r} is read as {found!r}, not {expected!r}"
    if "string" in types and read(whole, "some text", format) != "some text":
        yield "some text is not read as such"


def may_leave_out(whole: dict[str, Any], name: str) -> bool:
    """Whether the grammar may leave out a null or an object that the schema allows.

    It writes null for `nullable` only where this stands next to all else, and no object without the names of its keys.
    """
    said = json.dumps({key: value for key, value in whole.items() if key != "required"})
    keywords = {"null": ("nullable",), "object": ("required", "minProperties")}.get(name, ())
    return any(f'"{keyword}"' in said for keyword in keywords)


@pytest.mark.parametrize("schema", FIXED, ids=str)
def test_named_schemas(schema: Any) -> None:
    whole = parameters(schema)
    types = types_written(whole)
    assert types
    assert not list(disagreements(whole, types))


@pytest.mark.parametrize("format", OUTPUTS)
@pytest.mark.parametrize("name", WRITTEN)
def test_schemas_that_libraries_write(name: str, format: str) -> None:
    whole, expected = WRITTEN[name]
    types = types_written(whole)
    assert set(types) == set(ANY_TYPE if expected == "any" else expected.split())
    assert not list(disagreements(whole, types, format))


@pytest.mark.parametrize("kind", KEYWORDS_OF_TYPE)
def test_a_keyword_implies_the_same_type_for_both(kind: str) -> None:
    said: dict[str, Any] = {
        "properties": {}, "required": [], "patternProperties": {}, "items": {}, "prefixItems": [{}],
        "uniqueItems": True, "pattern": "a", "multipleOf": 1, "additionalItems": {}, "format": "date",
        "additionalProperties": {}, "propertyNames": {},
    }  # fmt: skip
    for keyword in KEYWORDS_OF_TYPE[kind]:
        whole = parameters({keyword: said.get(keyword, 1)})
        assert set(types_written(whole)) <= {kind, "integer"}, keyword  # 1 is a multiple of integers
        assert not list(disagreements(whole, types_written(whole))), keyword


@pytest.mark.parametrize("name", [*FORMAT_PATTERNS, "int32", "float", "byte", "iban", "idn-email", ""])
def test_a_format_implies_the_same_type_for_both(name: str) -> None:
    whole = parameters({"format": name})
    assert not list(disagreements(whole, types_written(whole)))


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(schema=schemas())
def test_generated_schemas(schema: Any) -> None:
    whole = parameters(schema)
    assert not list(disagreements(whole, types_written(whole)))


@pytest.mark.parametrize("part", range(10))
def test_schemas_of_references_unions_and_keywords(part: int) -> None:
    found = {}
    compared = 0
    for seed in range(part, GENERATED, 10):
        whole = typed_schema(seed)
        types = types_written(whole)
        compared += bool(types)
        texts = list(disagreements(whole, types))
        if texts and seed not in CONTRADICTIONS:
            found[seed] = texts
    assert compared > GENERATED / 30
    assert not found, f"{len(found)} of {compared}: {dict(list(found.items())[:3])}"
