"""One slip in a call's markup: no complete call has another's text, markup or a name of no tool in it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from unspool import Parser, parse

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": PARAMETERS}}
    for name in ("get_weather", "send_mail")
]


def calls(output: str, format: str, **options: Any) -> list[tuple[str, str, str]]:
    message = parse(output, format, TOOLS, **options)
    return [(call.name, call.arguments, call.status) for call in message.tool_calls]


def tagged(*parameters: str, name: str = "get_weather") -> str:
    return f"<tool_call>\n<function={name}>\n{''.join(parameters)}</function>\n</tool_call>"


CITY = "<parameter=city>\nParis\n</parameter>\n"


def test_a_value_that_its_schema_forbids_holds_no_markers() -> None:
    """F18: an integer took the rest of the call and the next one."""
    broken = "<tool_call>\n<function=get_weather>\n<parameter=days>\n3\n\n</tool_call>\n"
    found = calls(broken + tagged(CITY, name="send_mail"), "qwen3_coder")
    assert [call[::2] for call in found] == [("get_weather", "malformed"), ("send_mail", "complete")]
    assert found[1][1] == '{"city": "Paris"}'


def test_a_text_may_hold_them() -> None:
    value = "Close it with </tool_call> or </parameter>, then <function=x>."
    found = calls(tagged(f"<parameter=city>\n{value}\n</parameter>\n"), "qwen3_coder")
    assert found == [("get_weather", f'{{"city": "{value}"}}', "complete")]


def test_an_opener_after_a_closing_tag_opens_within_a_line() -> None:
    """F21: a call that took it as text had one value with both tags in it."""
    output = tagged(CITY[:-1] + " and <parameter=days>\n3\n</parameter>\n")
    ((_, arguments, status),) = calls(output, "qwen3_coder")
    assert status == "malformed"
    assert '"days"' not in arguments


@pytest.mark.parametrize("cut", range(1, len("</parameter>")))
def test_a_closing_tag_without_one_letter(cut: int) -> None:
    """F22: malformed, and mended with `repair`."""
    tag = "</parameter>"
    slip = tag[:cut] + tag[cut + 1 :]
    output = tagged(f"<parameter=city>\nParis\n{slip}\n<parameter=days>\n3\n</parameter>\n")
    ((_, _, status),) = calls(output, "qwen3_coder")
    assert status == "malformed"
    mended = calls(output, "qwen3_coder", repair=True)
    assert mended == [("get_weather", '{"city": "Paris", "days": 3}', "complete")]


@pytest.mark.parametrize(
    ("format", "output"),
    [
        ("mistral", '[TOOL_CALLS]get_weather[ARGS{"city": "Paris"}'),
        ("mistral", '[TOOL_CALLS]get_weather[THINK]{"city": "Paris"}'),
        ("gemma4", '<|tool_call>call:cal:get_weather{city:<|"|>Paris<|"|>}<tool_call|>'),
    ],
)
def test_a_name_that_holds_markup(format: str, output: str) -> None:
    """F20: malformed; with `repair` the one tool's name that it holds."""
    assert calls(output, format) == []
    ((name, arguments, status),) = calls(output, format, repair=True)
    assert (name, arguments.replace(" ", ""), status) == ("get_weather", '{"city":"Paris"}', "complete")


@pytest.mark.parametrize("name", ["get_weather2", "weather", "get_weather send_mail"])
def test_a_name_of_no_tool_is_not_guessed(name: str) -> None:
    output = f'<tool_call>\n{{"name": "{name}", "arguments": {{}}}}\n</tool_call>'
    assert all(call[0] == name for call in calls(output, "hermes", repair=True))


VALUES = ("0", "&lt;5", "&am", "tr", "[1", '[1, "a', '{"a": ', "\n", " ", "-")
#: What begins a value of the parameter %s, and the markers that its text may hold.
FAMILIES = {
    "qwen3_coder": (
        "<tool_call>\n<function=typed>\n<parameter=%s>\n",
        ("\n</parameter>", "<parameter=list>", "</tool_call>"),
    ),
    "minicpm5": (
        '<function name="typed"><param name="%s">',
        ("</param>", '<param name="list">', "</function>"),
    ),
    "glm45": (
        "<tool_call>typed\n<arg_key>%s</arg_key>\n<arg_value>",
        ("</arg_value>", "<arg_value>", "</tool_call>"),
    ),
}
TYPED = {
    "type": "function",
    "function": {
        "name": "typed",
        "parameters": {
            "type": "object",
            "properties": {
                name: {"type": name} for name in ("integer", "boolean", "object", "array", "string")
            },
        },
    },
}


@pytest.mark.parametrize("format", list(FAMILIES))
@pytest.mark.parametrize("type", list(TYPED["function"]["parameters"]["properties"]))  # type: ignore[index]
def test_no_byte_of_a_value_with_markers_is_lost(format: str, type: str) -> None:
    """Whatever the split: a value that fails gives back what it held, once."""
    begin, markers = FAMILIES[format]
    draw = random.Random(f"{format} {type}")
    for _ in range(40):
        parts = draw.choices([*VALUES, *markers, *markers], k=draw.randint(1, 6))
        output = f"{begin % type}{''.join(parts)}{draw.choice(markers)}"
        cut = draw.randrange(len(output))
        found = set()
        for pieces in ([output], list(output), [output[:cut], output[cut:]]):
            parser = Parser(format, [TYPED], audit=True, id_seed=1)
            for piece in pieces:
                parser.parse_chunk(piece)
            message = parser.finish()
            assert "".join(text for _, text in message.audit) == output
            found.add((message.content, str(message.tool_calls), str(message.malformed)))
        assert len(found) == 1


PYTHON = {
    "pythonic": "[{}]",
    "olmo3": "<function_calls>{}</function_calls>",
    "lfm2": "<|tool_call_start|>[{}]<|tool_call_end|>",
    "llama4_pythonic": "<|python_start|>[{}]<|python_end|>",
    "granite_pythonic": "{}",
}


@pytest.mark.parametrize("format", PYTHON)
@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize(
    "written",
    [
        "get_weather(city='Paris' days=3), send_mail(city='Ann')",
        "get_weather(city='Paris), send_mail(city='Ann')",
        "get_weather(city='Paris), send_mail(days=3, city='')",
        "get_weather(city='Paris, days=3), send_mail( city='Ann', days=1)",
    ],
)
def test_a_quote_or_comma_too_few_merges_no_arguments(format: str, quote: str, written: str) -> None:
    """F17: one string took the next argument, or the next call."""
    if format == "granite_pythonic":
        written = written.replace("), ", ")\n")
    output = PYTHON[format].format(written.replace("'", quote))
    for size in (1, 5, len(output)):
        parser = Parser(format, TOOLS, audit=True)
        for at in range(0, len(output), size):
            parser.parse_chunk(output[at : at + size])
        message = parser.finish()
        assert message.tool_calls[0].status == "malformed"
        whole = [(call.name, call.arguments) for call in message.tool_calls if call.is_complete]
        assert whole in ([], [("send_mail", '{"city": "Ann"}')])
        assert "".join(text for _, text in message.audit) == output


@pytest.mark.parametrize("value", ["Par'is", "it's (a=1), b=2", "grep --include='*.py' x", "a='b c"])
def test_other_quotes_in_a_string_are_text(value: str) -> None:
    found = calls(PYTHON["lfm2"].format(f"get_weather(city='{value}')"), "lfm2")
    assert found == [("get_weather", json.dumps({"city": value}), "complete")]


def test_repair_takes_each_quote_in_a_string_as_text() -> None:
    found = calls(PYTHON["lfm2"].format("get_weather(city='Paris' days=3')"), "lfm2", repair=True)
    assert found == [("get_weather", '{"city": "Paris\' days=3"}', "complete")]


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize(
    "written",
    [
        '{"name": "get_weather", "arguments": {"city": "A"}, "days": 3}',
        '{"days": 3, "name": "get_weather", "arguments": {"city": "A"}}',
        '{"arguments": {"city": "A"}, "days": 3, "name": "get_weather"}',
        '{"type": "get_weather", "days": 3, "arguments": {"city": "A"}}',
        '{"function": {"name": "get_weather", "arguments": {"city": "A"}}, "days": 3}',
        '{"name": "get_weather", "name": "send_mail", "arguments": {"city": "A"}}',
        '{"name": "get_weather", "arguments": {"city": "A"}, "name": "send_mail"}',
    ],
)
def test_an_argument_that_strays_and_a_second_name_are_not_dropped(written: str, repair: bool) -> None:
    """F19: the call was complete without them."""
    message = parse(f"<tool_call>\n{written}\n</tool_call>", "hermes", TOOLS, repair=repair)
    assert not any(call.is_complete for call in message.tool_calls)
    assert message.malformed


def test_other_keys_of_a_call_are_no_arguments() -> None:
    written = (
        '{"index": 0, "name": "get_weather", "arguments": {"city": "A"}, "type": "function", "note": ""}'
    )
    found = calls(f"<tool_call>\n{written}\n</tool_call>", "hermes")
    assert found == [("get_weather", '{"city": "A"}', "complete")]
