"""Schemas with values that fit them: nested, with lists, enums, unions, text in any script, and recursion."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

__all__ = ["Case", "cases", "schemas", "spellings"]

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x7f"), max_size=12)
PLAIN_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"\\\x7f'), max_size=12
)
NAMES = st.one_of(
    st.sampled_from(
        ["a", "b", "ab", "city", "unit", "$ref", "type", "日本", 'say "hi"', "", "a/b~c", "line\nbreak"]
    ),
    TEXT.filter(lambda text: len(text) < 8),
)
PATTERNS = {
    "^[a-z]{2,5}$": st.text("abcz", min_size=2, max_size=5),
    "b": st.builds(lambda one, other: one + "b" + other, PLAIN_TEXT, PLAIN_TEXT),
    r"^\d{3}-\d{2}$": st.builds(
        lambda number: f"{number:05d}"[:3] + "-" + f"{number:05d}"[3:], st.integers(0, 99999)
    ),
    "^(red|green)?$": st.sampled_from(["", "red", "green"]),
}
FORMATS = {
    "date": st.dates().map(str),
    "uuid": st.uuids().map(str),
    "ipv4": st.ip_addresses(v=4).map(str),
    "date-time": st.datetimes().map(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")),
}


@dataclass(frozen=True)
class Case:
    """A schema and a value that fits it, with its keys in the schema's order."""

    schema: Any
    value: Any


def spellings(value: Any) -> list[str]:
    """The value as models write it: compact, and with blanks."""
    return [
        json.dumps(value, ensure_ascii=False, separators=(",", ":")),
        json.dumps(value, ensure_ascii=False, separators=(", ", ": ")),
    ]


Shape = tuple[Any, st.SearchStrategy[Any]]


def _string(draw: Any) -> Shape:
    kind = draw(st.sampled_from(["any", "lengths", "pattern", "format"]))
    if kind == "pattern":
        pattern = draw(st.sampled_from(sorted(PATTERNS)))
        return {"type": "string", "pattern": pattern}, PATTERNS[pattern]
    if kind == "format":
        name = draw(st.sampled_from(sorted(FORMATS)))
        return {"type": "string", "format": name}, FORMATS[name]
    if kind == "lengths":
        shortest = draw(st.integers(0, 4))
        longest = draw(st.integers(shortest, 9))
        text = st.text(
            st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"\\'),
            min_size=shortest,
            max_size=longest,
        )
        return {"type": "string", "minLength": shortest, "maxLength": longest}, text
    return {"type": "string"}, TEXT


def _integer(draw: Any) -> Shape:
    first, last = sorted(draw(st.tuples(st.integers(-2000, 2000), st.integers(-2000, 2000))))
    bounds = draw(
        st.sampled_from([{}, {"minimum": first}, {"maximum": last}, {"minimum": first, "maximum": last}])
    )
    return {"type": "integer", **bounds}, st.integers(
        bounds.get("minimum", -9999), bounds.get("maximum", 9999)
    )


def _number(draw: Any) -> Shape:
    first, last = sorted(draw(st.tuples(st.integers(-300, 300), st.integers(-300, 300))))
    # At a bound itself, llguidance wants 2 and not 2.0; below 3.61, it does not admit 3.6.
    values = st.integers(first * 10, last * 10).map(
        lambda number: number / 100 if number % 100 else number // 100
    )
    return {"type": "number", "minimum": first / 10, "maximum": last / 10}, values


def _enum(draw: Any) -> Shape:
    scalars = st.one_of(TEXT, st.integers(-99, 99), st.booleans(), st.none(), st.sampled_from([0.5, 2.25]))
    values = st.one_of(scalars, st.lists(scalars, max_size=2), st.dictionaries(NAMES, scalars, max_size=2))
    listed = draw(st.lists(values, min_size=1, max_size=4))
    return draw(st.sampled_from([{"enum": listed}, {"const": listed[0]}])), st.sampled_from([listed[0]])


def _array(draw: Any, depth: int) -> Shape:
    items, values = _shape(draw, depth - 1)
    shortest = draw(st.integers(0, 2))
    longest = shortest + draw(st.integers(0, 2))
    if draw(st.booleans()):
        return (
            {"type": "array", "items": items, "minItems": shortest, "maxItems": longest},
            st.lists(values, min_size=shortest, max_size=longest),
        )
    other, other_values = _shape(draw, 0)
    return (
        {"type": "array", "prefixItems": [other], "items": items, "minItems": 1, "maxItems": 3},
        st.builds(lambda first, rest: [first, *rest], other_values, st.lists(values, max_size=2)),
    )


def _object(draw: Any, depth: int) -> Shape:
    names = draw(st.lists(NAMES, max_size=4, unique=True))
    shapes = {name: _shape(draw, depth - 1) for name in names}
    required = [name for name in names if draw(st.booleans())]
    optional = {name: draw(st.booleans()) for name in names if name not in required}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: shape[0] for name, shape in shapes.items()},
    }
    if required or draw(st.booleans()):
        schema["required"] = required[::-1]
    present = {name: shape[1] for name, shape in shapes.items() if name in required or optional[name]}
    # Hypothesis shuffles keys.
    values = st.fixed_dictionaries(present).map(lambda made: {name: made[name] for name in present})
    closed = draw(st.sampled_from([None, False, "open"]))
    if closed == "open":
        others = st.dictionaries(st.text("xyz", min_size=9, max_size=12), st.integers(0, 9), max_size=2)
        schema["additionalProperties"] = {"type": "integer"}
        values = st.builds(lambda named, more: {**named, **more}, values, others)
    elif closed is False:
        schema["additionalProperties"] = False
    return schema, values


def _union(draw: Any, depth: int) -> Shape:
    one, two = _shape(draw, depth - 1), _shape(draw, depth - 1)
    return {"anyOf": [one[0], two[0]]}, st.one_of(one[1], two[1])


def _nullable(draw: Any, depth: int) -> Shape:
    schema, values = _shape(draw, depth - 1)
    if isinstance(schema, dict) and isinstance(schema.get("type"), str):
        schema = {**schema, "type": [schema["type"], "null"]}
    else:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return schema, st.one_of(values, st.none())


def _shape(draw: Any, depth: int) -> Shape:
    makers: list[Any] = [_string, _integer, _number, _enum]
    if depth > 0:
        nested = [_array, _object, _object, _union, _nullable]
        makers += [lambda draw, made=made: made(draw, depth) for made in nested]
    makers.append(lambda _: ({"type": "boolean"}, st.booleans()))
    makers.append(
        lambda _: ({}, st.one_of(TEXT, st.integers(-9, 9), st.lists(st.integers(0, 3), max_size=2)))
    )
    made: Shape = draw(st.sampled_from(makers))(draw)
    return made


def _recursive(draw: Any) -> Shape:
    """A tree whose nodes hold values of another schema."""
    leaf, values = _shape(draw, 1)
    schema = {
        "$ref": "#/$defs/tree",
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {
                    "value": leaf,
                    "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
                },
                "required": ["value", "children"],
            }
        },
    }
    trees = values.map(lambda value: {"value": value, "children": []})
    for _ in range(2):
        trees = st.builds(
            lambda value, children: {"value": value, "children": children},
            values,
            st.lists(trees, max_size=2),
        )
    return schema, trees


@st.composite
def cases(draw: Any, depth: int = 3) -> Case:
    """A schema and one of its values."""
    schema, values = _recursive(draw) if draw(st.integers(0, 5)) == 0 else _shape(draw, depth)
    return Case(schema, draw(values))


def schemas(depth: int = 3) -> st.SearchStrategy[Any]:
    return cases(depth).map(lambda case: case.schema)
