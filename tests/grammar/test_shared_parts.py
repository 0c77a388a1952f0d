"""A schema in which equal parts are definitions says the same."""

from __future__ import annotations

from typing import Any

import jsonschema
from hypothesis import given, settings
from unspool.writing.grammar.shared_parts import share_parts

from .schemas import Case, cases

NUMBER = {"type": "number", "minimum": 0}
LIST = {"type": "array", "items": NUMBER}


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema without references to shared parts."""
    if isinstance(schema, list):
        return [_inlined(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if str(schema.get("$ref", "")).startswith("#/$defs/shared"):
        return _inlined(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    return {key: _inlined(value, definitions) for key, value in schema.items()}


def test_equal_parts_are_one_definition() -> None:
    schema = {
        "type": "object",
        "properties": {"a": LIST, "b": LIST, "c": {"type": "string"}, "d": {"type": "string"}},
    }
    made = share_parts(schema)
    assert made["properties"]["a"] == made["properties"]["b"] == {"$ref": "#/$defs/shared0"}
    assert made["properties"]["c"] == {"type": "string"}
    assert made["$defs"] == {"shared0": LIST}
    assert schema["properties"]["a"] is LIST, "the given schema is left as it is"


def test_a_part_is_shared_with_one_inside_a_shared_part() -> None:
    made = share_parts({"anyOf": [LIST, LIST, NUMBER], "$defs": {"shared0": NUMBER}})
    assert _inlined(made["anyOf"], made["$defs"]) == [LIST, LIST, NUMBER]
    assert made["$defs"]["shared0"] == NUMBER, "a name that is taken is not used again"


def test_nothing_is_changed_if_nothing_comes_again() -> None:
    schema = {
        "type": "object",
        "properties": {"a": NUMBER},
        "$defs": {"x": {"type": "array", "items": {"enum": [1]}}},
    }
    assert share_parts(schema) is schema


@settings(deadline=None)
@given(case=cases())
def test_a_shared_schema_says_the_same(case: Case) -> None:
    schema = {"type": "array", "items": False, "prefixItems": [case.schema, case.schema]}
    definitions = schema["prefixItems"][0].get("$defs") if isinstance(case.schema, dict) else None
    if definitions:
        return  # its references are relative to its own root
    made = share_parts(schema)
    jsonschema.validate([case.value, case.value], made)
    assert (
        _inlined({key: value for key, value in made.items() if key != "$defs"}, made.get("$defs", {}))
        == schema
    )
