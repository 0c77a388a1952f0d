"""What a family that writes tags reads besides: JSON in their place, and an element around the parameters."""

from __future__ import annotations

from typing import Any

import pytest
import unspool

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"name": "get_weather", "parameters": SCHEMA}]
CALL = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
MESSAGE = {"tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}]}


def tagged(form: Any) -> bool:
    return form.call.body in ("xml_parameters", "xml_elements")


def places() -> list[Any]:
    """The texts around a call of each family that writes tags, with room for an object between them."""
    found = []
    for file in unspool.formats():
        for form in file.shape.forms[:1]:
            around = form.section or form.call
            has_room = around.open.text.endswith(">") and form.call.author is None
            is_own = any(hole in str(file.patterns["call"]) for hole in ("${object}", "${value}"))
            if tagged(form) and has_room and not is_own:
                found.append(pytest.param(file.name, around.open.literal, around.close.literal, id=file.name))
    return found


def wrapped() -> list[Any]:
    """A call of each family with named parameters, and where they begin and end."""
    found = []
    for file in unspool.formats():
        form = file.shape.forms[0] if file.shape.forms else None
        if form is None or form.call.body != "xml_parameters" or "parameter" not in file.patterns:
            continue
        text = file.render(MESSAGE)
        begin = min(text.index(one.open.text) for one in form.parameters if one.open.text in text)
        end = max(
            text.rindex(one.last.text) + len(one.last.text)
            for one in form.parameters
            if one.last.text in text
        )
        found.append(pytest.param(file.name, text, begin, end, id=file.name))
    return found


def read(format: str, text: str, tools: list[dict[str, Any]] = TOOLS) -> list[unspool.Message]:
    """Whole, and a byte at a time."""
    parser = unspool.Parser(format, tools, start_in="content")
    for byte in text.encode():
        parser.parse_chunk(bytes([byte]))
    return [unspool.parse(text, format, tools, start_in="content"), parser.finish("stop")]


def calls_of(message: unspool.Message) -> list[tuple[str, str, bool]]:
    return [(call.name, call.arguments, call.is_complete) for call in message.tool_calls]


@pytest.mark.parametrize(("format", "opener", "closer"), places())
def test_an_object_in_place_of_tags(format: str, opener: str, closer: str) -> None:
    for message in read(format, f"{opener}{CALL}{closer}"):
        assert calls_of(message) == [("get_weather", '{"city": "Paris"}', True)]
        assert message.content.strip() == ""
        assert not message.malformed


@pytest.mark.parametrize(("format", "opener", "closer"), places())
def test_an_object_that_names_no_tool(format: str, opener: str, closer: str) -> None:
    for message in read(format, f"{opener}{CALL}{closer}", [{"name": "other", "parameters": SCHEMA}]):
        assert not any(call.is_complete for call in message.tool_calls)


@pytest.mark.parametrize("element", ["arguments", "parameters"])
@pytest.mark.parametrize(("format", "text", "begin", "end"), wrapped())
def test_an_element_around_the_parameters(format: str, text: str, begin: int, end: int, element: str) -> None:
    inside = f"\n<{element}>{text[begin:end]}</{element}>"
    for message in read(format, text[:begin] + inside + text[end:]):
        assert calls_of(message) == [("get_weather", '{"city": "Paris"}', True)]
        assert not message.malformed
