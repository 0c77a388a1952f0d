"""A JSON Schema as a value: what is equal, what is in it, and how it is written."""

from __future__ import annotations

from typing import Any

import pytest
from unspool.core.schema.schema import (
    Anything,
    Boolean,
    Bound,
    Listed,
    ListOf,
    Named,
    Nothing,
    Null,
    Number,
    ObjectOf,
    OneOf,
    Schema,
    Text,
    children,
    follow,
)
from unspool.core.schema.schema_json import schema_json

CLOSED = ObjectOf((("a", Text()), ("b", Number())), ("a",), others=Nothing())


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        (Anything(), {}),
        (Nothing("a reason"), False),
        (Null(), {"type": "null"}),
        (Boolean(), {"type": "boolean"}),
        (Text("^a", shortest=1), {"type": "string", "pattern": "^a", "minLength": 1}),
        (Text(format="date"), {"type": "string", "format": "date"}),
        (Number(True, Bound(0), Bound(9, belongs=False)), {"type": "integer", "minimum": 0, "exclusiveMaximum": 9}),
        (Number(step=0.5), {"type": "number", "multipleOf": 0.5}),
        (Listed(("a", 1, True, None)), {"enum": ["a", 1, True, None]}),
        (ListOf((Text(),), Null(), 1, 3), {
            "type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "null"}, "minItems": 1, "maxItems": 3,
        }),
        (ListOf((Text(),), Null(), longest=1), {"type": "array", "prefixItems": [{"type": "string"}], "maxItems": 1}),
        (CLOSED, {
            "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["a"],
            "additionalProperties": False,
        }),
        (ObjectOf(pattern="^x", others=Null()), {
            "type": "object", "patternProperties": {"^x": {"type": "null"}}, "additionalProperties": False,
        }),
        (ObjectOf(fewest=1, most=2), {
            "type": "object", "additionalProperties": {}, "minProperties": 1, "maxProperties": 2,
        }),
        (OneOf((Named("n"), Null())), {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}),
    ],
)  # fmt: skip
def test_a_schema_is_written_with_few_keywords(schema: Schema, written: Any) -> None:
    assert schema_json(schema) == written


def test_equal_schemas_match_the_same_values() -> None:
    assert Listed((1,)) != Listed((True,))
    assert Listed((1,)) != Listed((1.0,))
    assert Listed((1, "a")) == Listed((1, "a"))
    assert hash(Listed((1, "a"))) == hash(Listed((1, "a")))
    assert Nothing("one reason") == Nothing("another reason")
    other_order = ObjectOf(CLOSED.members[::-1], ("a",), others=Nothing())
    assert CLOSED.named == other_order.named
    assert other_order != CLOSED
    assert len({CLOSED, ObjectOf(CLOSED.members, ("a",), others=Nothing())}) == 1


def test_what_is_directly_in_a_schema() -> None:
    assert list(children(CLOSED)) == [Text(), Number(), Nothing()]
    assert list(children(ListOf((Text(),), Null()))) == [Text(), Null()]
    assert list(children(ListOf((Text(),), Null(), longest=1))) == [Text()]
    assert list(children(OneOf((Text(), CLOSED)))) == [Text(), CLOSED]
    assert list(children(Named("n"))) == []


def test_names_are_followed() -> None:
    definitions = {"a": Named("b"), "b": Text(), "endless": Named("endless")}
    assert follow(Named("a"), definitions) == Text()
    assert follow(CLOSED, definitions) is CLOSED
    assert follow(Named("endless"), definitions) == Anything()
