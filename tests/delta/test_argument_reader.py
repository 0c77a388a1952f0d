"""Values of a call's arguments while they stream."""

from __future__ import annotations

import json
from typing import Any

import pytest
import unspool
from unspool import ArgumentReader, Parser, PartialArguments, to_partial_args

ARGUMENTS = (
    r'{"a": "x\u00e9\ud83d\ude00y", "n": -12.5, "l": [1, true, {"k": null, "": []}], "o\"b": {}, "e": ""}'
)
CALL = f'<tool_call>\n{{"name": "f", "arguments": {ARGUMENTS}}}\n</tool_call>'


def deltas_of(text: str, size: int, format: str = "hermes", **options: Any) -> list[list[unspool.Delta]]:
    parser = Parser(format, **options)
    made = [parser.parse_chunk(text[i : i + size]) for i in range(0, len(text), size)]
    return [*made, parser.finish().deltas]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_say_what_is_written(size: int) -> None:
    reader, texts, final = ArgumentReader(), {}, []
    for deltas in deltas_of(CALL, size):
        for event in reader.put(deltas):
            assert event.call == 0
            texts[event.path] = texts.get(event.path, "") + event.text
            if event.is_final:
                final.append((event.json_path, event.kind, texts[event.path]))
    assert final == [
        ("$.a", "string", "xé😀y"),
        ("$.n", "number", "-12.5"),
        ("$.l[0]", "number", "1"),
        ("$.l[1]", "boolean", "true"),
        ("$.l[2].k", "null", "null"),
        ("$.l[2]['']", "array", ""),
        ("$.l[2]", "object", ""),
        ("$.l", "array", ""),
        ("$['o\"b']", "object", ""),
        ("$.e", "string", ""),
        ("$", "object", ""),
    ]


def test_fragments_leave_no_gap() -> None:
    reader, arguments, place = ArgumentReader(), ARGUMENTS.encode(), None
    for deltas in deltas_of(CALL, 3):
        for event in reader.put(deltas):
            if event.path != ("a",):
                continue
            assert place in (None, event.start)
            place = event.end
            if event.is_final:
                assert arguments[:place].endswith(b'y"')
    assert place == arguments.index(b'y"') + 2


def test_a_number_is_final_at_the_byte_after_it() -> None:
    partial, parser = PartialArguments(), Parser("hermes")
    partial.put(parser.parse_chunk('<tool_call>{"name": "f", "arguments": {"n": 12'))
    with pytest.raises(KeyError, match="no final value at"):
        partial.value(("n",))
    partial.put(parser.parse_chunk("3,"))
    assert partial.value(("n",)) == 123
    with pytest.raises(KeyError):
        partial.value()


def test_a_cut_call_is_never_final() -> None:
    partial = PartialArguments()
    for deltas in deltas_of(CALL[:-20], 4):
        partial.put(deltas)
    assert partial.value(("l", 2)) == {"k": None, "": []}
    with pytest.raises(KeyError):
        partial.value()


def test_what_is_shown_holds_the_open_string() -> None:
    partial, parser = PartialArguments(), Parser("hermes")
    partial.put(parser.parse_chunk('<tool_call>{"name": "f", "arguments": {"l": [1, {"t": "ab'))
    assert partial.shown() == {"l": [1, {"t": "ab"}]}
    assert partial.final() == {"l": [1, {}]}
    partial.shown()["l"].append("mine")
    assert partial.shown() == {"l": [1, {"t": "ab"}]}
    assert partial.final(call=1) == partial.shown(call=1) == {}


@pytest.mark.parametrize(
    ("path", "pointer", "json_path"),
    [
        ("a/b~c", "/a~1b~0c", "$['a/b~c']"),
        ("it's", "/it's", r"$['it\'s']"),
        ("a\\b\n", "/a\\b\n", r"$['a\\b\n']"),
        ("0", "/0", "$['0']"),
        ("ä", "/ä", "$['ä']"),
        ("_a1", "/_a1", "$._a1"),
    ],
)
def test_paths_as_wires_write_them(path: str, pointer: str, json_path: str) -> None:
    call = json.dumps({"name": "f", "arguments": {path: 1}}, ensure_ascii=False)
    events = ArgumentReader().put(Parser("hermes").parse(f"<tool_call>{call}</tool_call>").deltas)
    assert [(event.path, event.pointer, event.json_path) for event in events[1:2]] == [
        ((path,), pointer, json_path)
    ]


def test_googles_shape() -> None:
    events = ArgumentReader().put([delta for deltas in deltas_of(CALL, 1000) for delta in deltas])
    assert to_partial_args(events) == [
        {"jsonPath": "$.a", "stringValue": "xé😀y", "willContinue": False},
        {"jsonPath": "$.n", "numberValue": -12.5},
        {"jsonPath": "$.l[0]", "numberValue": 1},
        {"jsonPath": "$.l[1]", "boolValue": True},
        {"jsonPath": "$.l[2].k", "nullValue": "NULL_VALUE"},
        {"jsonPath": "$.e", "stringValue": "", "willContinue": False},
    ]


def test_tagged_values_are_typed_by_the_schema() -> None:
    tools = [{"name": "f", "parameters": {"properties": {"days": {"type": "integer"}}}}]
    text = (
        "<tool_call>\n<function=f>\n<parameter=days>\n3\n</parameter>\n<parameter=note>\n3 <b>\n</parameter>\n"
        "</function>\n</tool_call>"
    )
    for size in (1, 5, 1000):
        partial = PartialArguments()
        for deltas in deltas_of(text, size, "qwen3_coder", tools=tools):
            partial.put(deltas)
        assert partial.value() == {"days": 3, "note": "3 <b>"}


@pytest.mark.parametrize("wrong", [None, 1, "text", ["text"]])
def test_put_takes_deltas(wrong: Any) -> None:
    with pytest.raises(TypeError, match="put takes a Delta or several"):
        ArgumentReader().put(wrong)


def test_calls_that_are_deep_or_many_keep_their_own_values() -> None:
    deep = "[" * 400 + "1" + "]" * 400
    one = f'<tool_call>{{"name": "f", "arguments": {{"d": {deep}}}}}</tool_call>'
    partial = PartialArguments()
    partial.put(Parser("hermes").parse(one + "\n" + CALL).deltas)
    assert partial.value(("d", *[0] * 400)) == 1
    assert partial.value(call=1) == json.loads(ARGUMENTS)
