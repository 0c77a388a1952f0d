"""A schema as its author wrote it: the keywords of every draft, with types of Python."""

from __future__ import annotations

from typing import Any

import pytest
from unspool.core.schema.keywords import ANNOTATIONS, CHECKED, COMPOSING, KEYWORDS_OF_TYPE, LISTING
from unspool.core.schema.schema import Bound
from unspool.core.schema.source import Lengths, Part, Source
from unspool.errors import ArgumentError


def source(**keywords: Any) -> Source:
    return Source({name.replace("_", "$"): said for name, said in keywords.items()}, "#/x")


def test_each_keyword_has_one_fate() -> None:
    enforced = [keyword for keywords in KEYWORDS_OF_TYPE.values() for keyword in keywords]
    every = [*enforced, *LISTING, *COMPOSING, "type", *CHECKED, *ANNOTATIONS]
    assert len(every) == len(set(every))


def test_types() -> None:
    assert source().types is None
    assert source(type="string").types == {"string"}
    assert source(type=["integer", "null"]).types == {"integer", "null"}
    nullable = Part.of({"type": "string", "nullable": True}, "#")
    assert nullable.types == {"string", "null"}
    assert nullable.not_null().types == {"string"}
    assert not nullable.adds_null
    assert Part.of({"nullable": True, "allOf": []}, "#").adds_null


@pytest.mark.parametrize(
    ("said", "about", "implied"),
    [
        ({"minLength": 1, "items": {}}, {"string", "array"}, {"string", "array"}),
        ({"format": "date"}, {"string"}, {"string"}),
        ({"format": "int32"}, {"string"}, set()),
        ({"title": "a", "unknown": 1, "not": {}}, set(), set()),
    ],
)
def test_types_that_keywords_speak_of(said: dict[str, Any], about: set[str], implied: set[str]) -> None:
    assert source(**said).about == about
    assert source(**said).implied == implied


@pytest.mark.parametrize(
    ("type", "excludes"),
    [("object", False), (["null", "object"], False), (None, False), ("string", True), (3, True)],
)
def test_a_type_that_excludes_objects(type: Any, excludes: bool) -> None:
    assert source(type=type).excludes_objects == excludes


def test_bounds_of_every_draft() -> None:
    both = source(minimum=1, exclusiveMinimum=0, exclusiveMaximum=True, maximum=9).range
    assert both.lowest == [Bound(1), Bound(0, belongs=False)]
    assert both.highest == [Bound(9, belongs=False)]
    assert source(exclusiveMaximum=True).range.highest == []
    huge = 10**400
    assert source(minimum=huge).range.lowest == [Bound(huge)]


def test_items_of_every_draft() -> None:
    new = source(prefixItems=[{}], items={"type": "null"}, minItems=1.0).items
    old = source(items=[{}], additionalItems={"type": "null"}).items
    for items in (new, old):
        first, rest = items.at(0), items.at(1)
        assert first is not None
        assert rest is not None
        assert (first.source.schema, rest.source.schema) == ({}, {"type": "null"})
    assert new.count == Lengths(1, None)
    assert [part.path for part in (*new.first, *old.first)] == ["#/x/prefixItems/0", "#/x/items/0"]


def test_keys() -> None:
    keys = source(properties={"a/b": True}, required=["c"], unevaluatedProperties=False).keys
    assert keys.named["a/b"].path == "#/x/properties/a~1b"
    assert keys.required == ["c"]
    assert keys.others is None
    assert keys.names_some
    assert keys.is_sealed


def test_only_what_is_asked_for_is_checked() -> None:
    odd = source(type="string", minLength=2, items=3, required=True)
    assert odd.text == Lengths(2, None)
    with pytest.raises(ArgumentError, match="#/x/required: expected a list; got True"):
        odd.keys  # noqa: B018


@pytest.mark.parametrize(
    ("said", "group", "message"),
    [
        ({"type": "float"}, "types", "#/x/type: expected one or several of object"),
        ({"type": []}, "types", "#/x/type: expected one or several of object"),
        ({"minLength": -1}, "text", "#/x/minLength: expected a whole number that is not negative; got -1"),
        ({"maximum": float("inf")}, "range", "#/x/maximum: expected a number; got inf"),
        ({"multipleOf": 0}, "range", "expected a number above 0"),
        ({"enum": "a"}, "listed", "#/x/enum: expected a list"),
        ({"anyOf": {}}, "choices", "#/x/anyOf: expected a list"),
        ({"properties": []}, "keys", "#/x/properties: expected an object"),
        ({"properties": {"\ud800": {}}}, "keys", "lone surrogate"),
        ({"required": [1]}, "keys", "expected a list of names"),
        ({"_ref": 1}, "reference", "a reference is a string; got 1"),
    ],
)
def test_a_malformed_keyword_is_named(said: dict[str, Any], group: str, message: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        getattr(source(**said), group)
    assert message in str(raised.value)


def test_a_union_is_merged_once() -> None:
    part = Part.of({"anyOf": [{}], "oneOf": [{}, {}], "title": "a"}, "#")
    assert part.union is not None
    assert (len(part.union.choices), part.union.is_exclusive) == (1, False)
    rest = part.union.rest
    assert rest.union is not None
    assert (len(rest.union.choices), rest.union.is_exclusive) == (2, True)
    assert rest.constrains
    assert not rest.union.rest.constrains
    assert rest.key != part.key


def test_what_leads_to_others_is_merged_once() -> None:
    part = Part.of({"$ref": "#/$defs/a", "properties": {}, "allOf": [{}]}, "#")
    assert part.source.order == ("reference", "keys", "parts")
    assert part.leads == {"reference", "parts"}
    assert not part.alone().leads
