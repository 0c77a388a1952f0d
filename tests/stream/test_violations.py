"""Where a call's arguments violate the schema of its tool."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import sys
from typing import Any

import pytest
import unspool
from hypothesis import given
from hypothesis import strategies as st
from unspool import StreamBatch, TokenStreamer, ToolCall, Violation
from unspool.errors import UnspoolError
from unspool.testing.marker_tokenizer import marker_tokenizer

jsonschema = pytest.importorskip("jsonschema")

SCHEMA = {
    "type": "object",
    "properties": {
        "x": {"type": "integer", "minimum": 1},
        "of": {"type": "array", "items": {"enum": ["a", "b"]}},
    },
    "required": ["x"],
    "additionalProperties": False,
}
TOOLS = [
    {"type": "function", "function": {"name": "f", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "now"}},
]


def output(*calls: tuple[str, str]) -> str:
    return "".join(
        f'<tool_call>\n{{"name": "{name}", "arguments": {one}}}\n</tool_call>' for name, one in calls
    )


def call_of(arguments: str, name: str = "f", tools: Any = TOOLS) -> ToolCall:
    (call,) = unspool.parse(output((name, arguments)), "hermes", tools).tool_calls
    return call


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ('{"x": 1}', []),
        ('{"x": 2, "of": ["a", "b"]}', []),
        ("{}", [("#", "required", {})]),
        ('{"x": "1"}', [("#/x", "type", "1")]),
        ('{"x": 0, "of": ["a", "c"]}', [("#/x", "minimum", 0), ("#/of/1", "enum", "c")]),
        ('{"x": 1, "y": 2}', [("#", "additionalProperties", {"x": 1, "y": 2})]),
    ],
)
def test_each_has_its_path_rule_and_value(arguments: str, found: Any) -> None:
    call = call_of(arguments)
    assert call.is_complete
    assert [(one.path, one.rule, one.value) for one in call.violations] == found
    assert all(one.message for one in call.violations)
    assert call.violations is call.violations


def test_nothing_is_known_of_the_schema() -> None:
    for call in (call_of("{}", tools=None), call_of('{"a": 1}', "now"), call_of('{"a": 1}', "other")):
        assert (call.is_complete, call.violations) == (True, ())
    assert ToolCall("1", "f", "{}", "complete").violations == ()
    assert ToolCall("1", "f", "{}", "complete", schema=json.dumps(SCHEMA)).violations[0].rule == "required"
    assert ToolCall("1", "f", "{}", "complete", schema='{"required": ["x"').violations[0].rule == "schema"


@pytest.mark.parametrize(
    "arguments", ["", '{"x": ', '{"x": 1} extra', "[" * 10**5, '{"x": ' + "9" * 5000 + "}"]
)
def test_arguments_that_are_not_json(arguments: str) -> None:
    (found,) = ToolCall("1", "f", arguments, "malformed", schema=json.dumps(SCHEMA)).violations
    assert (found.path, found.rule, found.value) == ("#", "json", arguments)


def test_an_incomplete_call() -> None:
    (call,) = unspool.parse('<tool_call>\n{"name": "f", "arguments": {"x": 1', "hermes", TOOLS).tool_calls
    assert not call.is_complete
    assert [one.rule for one in call.violations] == ["json"]


COPIES = {
    "pickle": lambda call: pickle.loads(pickle.dumps(call)),
    "protocol 0": lambda call: pickle.loads(pickle.dumps(call, 0)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "replace": lambda call: dataclasses.replace(call, id="other"),
    "copied twice": lambda call: pickle.loads(pickle.dumps(copy.deepcopy(call))),
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("is_asked", [False, True])
def test_violations_survive(how: str, is_asked: bool) -> None:
    call = call_of('{"x": "1"}')
    if is_asked:
        assert call.violations
    other = COPIES[how](call)
    assert dataclasses.replace(other, id=call.id) == call
    assert hash(dataclasses.replace(other, id=call.id)) == hash(call)
    assert other.violations == call.violations
    assert call.violations
    (kept,) = pickle.loads(pickle.dumps(unspool.parse(output(("f", "{}")), "hermes", TOOLS))).tool_calls
    assert [one.rule for one in kept.violations] == ["required"]


def test_the_schema_is_no_part_of_the_call() -> None:
    call = call_of("{}")
    plain = ToolCall(call.id, "f", "{}", "complete")
    assert call == plain
    assert repr(call) == repr(plain)
    assert dataclasses.asdict(call) == dataclasses.asdict(plain)
    assert len(pickle.dumps(call)) < len(pickle.dumps(plain)) + len(json.dumps(SCHEMA)) + 100


def test_every_way_to_parse() -> None:
    text, file = output(("f", "{}"), ("now", "{}"), ("f", '{"x": 1}')), unspool.get_format("hermes")
    tokenizer = marker_tokenizer(file)
    ids = tokenizer.encode(text).ids
    streamer = TokenStreamer(tokenizer, "hermes", TOOLS)
    streamer.put(ids)
    half = streamer.message
    streamer.end()
    parser = unspool.Parser("hermes", TOOLS)
    parser.parse_chunk(text)
    batch = StreamBatch(tokenizer, "hermes")
    slot = batch.add(TOOLS)
    batch.step([slot], ids, [0, len(ids)])
    found = [
        half,
        streamer.message,
        parser.message,
        parser.fork().message,
        batch.message(slot),
        *unspool.parse_batch([text, text], "hermes", TOOLS),
        *unspool.parse_batch([text], "hermes", unspool.ToolSchemas({"f": json.dumps(SCHEMA)})),
    ]
    for message in found:
        assert [len(call.violations) for call in message.tool_calls] == [1, 0, 0]


def test_a_schema_is_shared_by_calls() -> None:
    messages = unspool.parse_batch([output(("f", "{}"), ("f", "{}"))] * 3, "hermes", TOOLS)
    shared = {id(vars(call)["schema"]) for message in messages for call in message.tool_calls}
    assert len(shared) == 1


def test_tools_keep_their_schemas() -> None:
    schemas = unspool.ToolSchemas({"f": '{"type":  "object"}', "é": "{}"})
    assert [schemas.schema(name) for name in ("f", "é", "g")] == ['{"type":  "object"}', "{}", None]


def test_without_jsonschema(monkeypatch: pytest.MonkeyPatch) -> None:
    from unspool.core.schema.check_keywords import validator_class

    validator_class.cache_clear()
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(UnspoolError, match=r"pip install 'unspool\[constrain\]'"):
        _ = call_of("{}").violations
    assert call_of("{}", tools=None).violations == ()


# Hostile schemas and values


keywords = st.sampled_from(
    ["type", "properties", "items", "required", "enum", "pattern", "$ref", "anyOf", "allOf", "not", "minimum",
     "multipleOf", "patternProperties", "additionalProperties", "$dynamicRef", "uniqueItems", "nullable", "$defs"]
)  # fmt: skip
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["object", "#", "#/x", "(a+)+$", "["])
)
schemas = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords, inner, max_size=3),
    max_leaves=12,
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)


@given(schema=st.dictionaries(keywords, schemas, max_size=4), value=values)
def test_no_schema_and_no_value_raises(schema: Any, value: Any) -> None:
    text = json.dumps(schema)
    found = ToolCall("1", "f", json.dumps({"x": value}), "complete", schema=text).violations
    assert all(isinstance(one, Violation) for one in found)


DEEP: Any = {"type": "object"}
for _ in range(150):
    DEEP = {"type": "object", "properties": {"x": DEEP}, "anyOf": [{}, {}]}
HOSTILE: dict[str, tuple[Any, Any]] = {
    "a pattern with exponential time": ({"pattern": "^(a+)+$"}, "a" * 50_000 + "b"),
    "many keys and patterns": (
        {"patternProperties": {f"^(a|a)*{n}$": {} for n in range(50)}, "additionalProperties": False},
        {"a" * n: n for n in range(300)},
    ),
    "a schema that refers to itself": ({"$ref": "#"}, 1),
    "a tree that doubles": (
        {"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [{"properties": {"x": {"$ref": "#/$defs/n"}}, "required": ["y"]}] * 2}}},
        json.loads('{"x": ' * 90 + "1" + "}" * 90),
    ),
    "a deep value": ({"additionalProperties": {"type": "string"}}, json.loads('{"x": ' * 900 + "1" + "}" * 900)),
    "a deep schema": (DEEP, json.loads('{"x": ' * 140 + "1" + "}" * 140)),
    "a long list of equal items": ({"uniqueItems": True, "items": {"type": "null"}}, [[n] for n in range(50_000)]),
    "a long list and a long enum": ({"items": {"enum": list(range(3000))}}, [-1] * 30_000),
    "a far document": ({"$ref": "http://example.com/schema"}, 1),
}  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schemas_and_values(name: str) -> None:
    schema, value = HOSTILE[name]
    tools = [{"function": {"name": "f", "parameters": {"type": "object", "properties": {"x": schema}}}}]
    found = call_of(json.dumps({"x": value}), tools=tools).violations
    assert len(found) <= 20
    assert all(len(one.message) <= 300 for one in found)


@pytest.mark.parametrize(
    ("format", "text", "arguments"),
    [
        ("hermes", '<tool_call>\n{"name": "f", "arguments": {"v": {"k": 1, "k": 2}}}\n</tool_call>', '{"v": {"k": 1, "k": 2}}'),
        ("mistral", '[TOOL_CALLS]f[ARGS]{"v": {"k": 1, "k": 2}}', '{"v": {"k": 1, "k": 2}}'),
        ("qwen3_coder", "<tool_call>\n<function=f>\n<parameter=v>\n{\"k\": 1, \"k\": 2}\n</parameter>\n</function>\n</tool_call>",
         '{"v": {"k": 1, "k": 2}}'),
        ("glm47", "<tool_call>f<arg_key>v</arg_key><arg_value>{\"k\": 1, \"k\": 2}</arg_value></tool_call>", '{"v": {"k": 1, "k": 2}}'),
        ("pythonic", "[f(v={'k': 1, 'k': 2})]", '{"v": {"k": 1, "k": 2}}'),
        ("gemma4", "<|tool_call>call:f{v:{k:1,k:2}}<tool_call|>", '{"v": {"k": 1, "k": 2}}'),
    ],
)  # fmt: skip
def test_a_key_twice_in_a_value_is_passed_on_and_reported(format: str, text: str, arguments: str) -> None:
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"v": {"type": "object"}}}}]
    (call,) = unspool.parse(text, format, tools).tool_calls
    assert call.is_complete
    assert call.arguments.replace(" ", "") == arguments.replace(" ", "")
    ((violation),) = call.violations
    assert (violation.path, violation.rule, violation.value) == ("#", "json", "k")
    (call,) = unspool.parse(text, format, tools, repair=True).tool_calls
    assert call.arguments.replace(" ", "") == arguments.replace(" ", "")
