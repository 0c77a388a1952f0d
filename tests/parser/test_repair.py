"""With repair=True almost-JSON is read, and what was cut off is closed; every repair is reported."""

from __future__ import annotations

import ast
import json
import math
from typing import Any

import pytest
import unspool
from hypothesis import given
from hypothesis import strategies as st
from unspool.testing import byte_splits

from ..outputs import TOOLS, outputs, render


def call_of(text: str, format: str = "hermes", reason: str = "stop") -> unspool.ToolCall:
    """The one call; the same at every split."""
    found = set()
    for pieces in byte_splits(text.encode()):
        parser = unspool.Parser(format, TOOLS, id_seed=1, repair=True)
        for piece in pieces:
            parser.parse_chunk(piece)
        message = parser.finish(reason)
        assert not message.malformed, message
        found.add(message.tool_calls)
    ((call,),) = found
    return call


def hermes(arguments: str) -> str:
    return f'<tool_call>{{"name": "get_weather", "arguments": {arguments}}}</tool_call>'


@pytest.mark.parametrize(
    ("arguments", "meant", "repairs"),
    [
        ("{'city': 'Paris'}", {"city": "Paris"}, ("single quotes",)),
        ("{'city': 'L\\'Aquila \"x\"'}", {"city": 'L\'Aquila "x"'}, ("single quotes",)),
        ('{"city": "Paris",}', {"city": "Paris"}, ("trailing comma",)),
        ('{"list": [1, 2, ], }', {"list": [1, 2]}, ("trailing comma",)),
        ('{"metric": True, "note": None}', {"metric": True, "note": None}, ("python literal",)),
        ('{city: "Paris"}', {"city": "Paris"}, ("unquoted key",)),
        ('{"city": "a\nb"}', {"city": "a\nb"}, ("unescaped newline",)),
        ('{"days": 007}', {"days": 7}, ("python literal",)),
        ('{"city": "Paris"}', {"city": "Paris"}, ()),
    ],
)
def test_slips_are_mended_and_reported(
    arguments: str, meant: dict[str, Any], repairs: tuple[str, ...]
) -> None:
    call = call_of(hermes(arguments))
    assert json.loads(call.arguments) == meant
    assert call.repairs == repairs
    assert call.is_complete


@pytest.mark.parametrize(
    ("format", "output", "content"),
    [
        ("gemma4", '<|tool_call>call:get_weather(city=<|"|>Paris<|"|>,days=3)<tool_call|>', ""),
        ("llama4_pythonic", '{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}', ""),
        ("pythonic", 'I look it up.\n[get_weather(city="Paris", days=3)]', "I look it up."),
    ],
)
def test_a_call_in_another_notation_is_mended(format: str, output: str, content: str) -> None:
    for pieces in byte_splits(output.encode()):
        parser = unspool.Parser(format, TOOLS, repair=True)
        for piece in pieces:
            parser.parse_chunk(piece)
        message = parser.finish("stop")
        assert message.content.strip() == content
        assert not message.malformed
        (call,) = message.tool_calls
        assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Paris", "days": 3})
        assert call.is_complete
        assert call.repairs


def test_names_may_be_in_single_quotes_too() -> None:
    call = call_of("<tool_call>{'name': 'get_weather', 'arguments': {'city': 'Paris'}}</tool_call>")
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Paris"})


def test_off_by_default() -> None:
    message = unspool.parse(hermes("{'city': 'Paris'}"), "hermes", TOOLS)
    assert [call.status for call in message.tool_calls] == ["malformed"]


# json's calls count only with tools; cwm's have one argument.
@pytest.mark.parametrize(
    "name", [file.name for file in unspool.formats() if file.has_tools and file.name not in ("json", "cwm")]
)
def test_what_is_cut_off_is_closed_at_every_place(name: str) -> None:
    file = unspool.get_format(name)
    arguments = {"city": 'Zürich \\ "x"', "days": 3, "options": {"a": [1, None, "é"]}, "metric": True}
    text = render(file, "", "", [("get_weather", arguments)])
    for end in range(len(text)):
        message = unspool.parse(text[:end], file, TOOLS, repair=True, finish_reason="length")
        for call in message.tool_calls:
            if call.status == "incomplete":
                continue  # a comma in JSON cannot be taken back
            assert isinstance(json.loads(call.arguments), dict), (text[:end], call)
            assert call.is_complete
            assert call.repairs in ((), ("closed",), ("closed", "empty value")), text[:end]


@given(data=st.data())
def test_valid_json_comes_through_to_the_byte(data: st.DataObject) -> None:
    value = data.draw(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=8,
        ).filter(lambda value: "Infinity" not in json.dumps(value))
    )
    arguments = json.dumps({"city": value}, ensure_ascii=data.draw(st.booleans()))
    message = unspool.parse(hermes(arguments), "hermes", repair=True)
    assert message.tool_calls[0].arguments == arguments
    assert message.tool_calls[0].repairs == ()


@given(data=st.data())
def test_repair_never_loses_and_never_depends_on_the_split(data: st.DataObject) -> None:
    format = data.draw(st.sampled_from([file.name for file in unspool.formats() if file.has_tools]))
    text = data.draw(outputs(format)).replace('"', data.draw(st.sampled_from(['"', "'"])))
    whole = unspool.parse(text, format, TOOLS, repair=True, id_seed=1, audit=True)
    parser = unspool.Parser(format, TOOLS, repair=True, id_seed=1, audit=True)
    for byte in text.encode():
        parser.parse_chunk(bytes([byte]))
    parts = parser.finish()
    assert (parts.content, parts.reasoning, parts.tool_calls) == (
        whole.content, whole.reasoning, whole.tool_calls,
    )  # fmt: skip
    for message in (whole, parts):
        assert "".join(text for _, text in message.audit) == text
        for call in message.tool_calls:
            if call.is_complete:
                assert isinstance(json.loads(call.arguments), dict)


PYTHON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=8,
).filter(lambda value: "inf" not in repr(value))


@given(value=PYTHON, size=st.integers(1, 9))
def test_python_literals_mean_what_python_says(value: Any, size: int) -> None:
    text = f"f(a={value!r})"
    parser = unspool.Parser("olmo3")
    raw = f"<function_calls>{text}</function_calls>".encode()
    for start in range(0, len(raw), size):
        parser.parse_chunk(raw[start : start + size])
    (call,) = parser.finish().tool_calls
    assert call.is_complete
    expected = json.loads(json.dumps(ast.literal_eval(repr(value))))
    found = json.loads(call.arguments)["a"]
    assert found == expected or math.isclose(found, expected)


@pytest.mark.parametrize(
    ("literal", "meant"),
    [
        ("'it''s'", "it''s"),  # two strings side by side: an unescaped quote
        ('"say "hi" to me"', 'say "hi" to me'),
        ("r'a\\n'", "a\\n"),
        ("'''a 'quote' b'''", "a 'quote' b"),
        ("'\\x41\\101\\u00e9\\N'", "AAé\\N"),
        ("1_000", 1000),
        ("0x1F", 31),
        (".5", 0.5),
        ("+3", 3),
        ("{1, 2}", [1, 2]),
        ("{1: 'a'}", {"1": "a"}),
        ("{}", {}),
        ("()", []),
        ("(1,)", [1]),
        ("[1, 2,]", [1, 2]),
        ("true", True),
        ("null", None),
        ("'a\nb'", "a\nb"),
    ],
)
def test_literals_by_hand(literal: str, meant: Any) -> None:
    call = call_of(f"<function_calls>get_weather(city={literal})</function_calls>", "olmo3")
    assert json.loads(call.arguments) == {"city": meant}


@pytest.mark.parametrize("key", ["ab", "\u00e9a"])
def test_the_next_calls_bare_key_is_its_own(key: str) -> None:
    """Found by fuzzing: the key's first byte was the call's before it, and half a character was reported."""
    output = f'<|tools_prefix|>[{{"g":{{"a":1}},{key}'
    for pieces in byte_splits(output.encode()):
        parser = unspool.Parser("apertus", audit=True, repair=True)
        for piece in pieces:
            parser.parse_chunk(piece)
        message = parser.finish("length")
        assert [item.text for item in message.malformed] == [key]
        assert "".join(text for _, text in message.audit) == output


@pytest.mark.parametrize(
    ("format", "output", "unread"),
    [
        ("functionary", '<function=f>{city": "New', 'city": "New'),
        ("hermes", '<tool_call>{"name": "now", "arguments": {"a": 1, tru"b": 2}}</tool_call>', 'tru"b": 2}}'),
        ("apertus", '<|tools_prefix|>[{"f": {"a": 1, oops"}}]<|tools_suffix|>', 'oops"}}]'),
    ],
)
def test_a_word_that_cannot_be_read_is_reported_whole(format: str, output: str, unread: str) -> None:
    for pieces in byte_splits(output.encode()):
        parser = unspool.Parser(format, repair=True)
        for piece in pieces:
            parser.parse_chunk(piece)
        assert [item.text for item in parser.finish("stop").malformed] == [unread], pieces


@pytest.mark.parametrize(
    ("format", "output"),
    [
        ("hermes", '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Par}}\n</tool_call>'),
        (
            "longcat",
            '<longcat_tool_call>\n{"name": "get_weather", "arguments": {"city": "Par\n</longcat_tool_call>',
        ),
        ("lfm2", "<|tool_call_start|>[get_weather(city='Par)]<|tool_call_end|>"),
    ],
)
def test_a_cut_string_that_took_the_closer_is_not_closed(format: str, output: str) -> None:
    """The string lacks its quote, so what it would say is not what the model meant."""
    for pieces in ([output], list(output)):
        parser = unspool.Parser(format, TOOLS, repair=True)
        for piece in pieces:
            parser.parse_chunk(piece)
        assert [call.status for call in parser.finish().tool_calls] == ["incomplete"]


def test_a_string_that_mentions_the_closer_and_ends_is_whole() -> None:
    output = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "</tool_call>"}}\n</tool_call>'
    assert unspool.parse(output, "hermes", TOOLS, repair=True).tool_calls[0].is_complete
