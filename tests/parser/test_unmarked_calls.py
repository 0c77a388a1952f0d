"""`unmarked_calls=True`: bare or fenced JSON that fits an offered tool is a call (what small models write)."""

from __future__ import annotations

import json
from typing import Any

import pytest
import unspool
from unspool.testing import byte_splits

TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
    {"name": "now", "parameters": {"type": "object", "properties": {}}},
]
WEATHER = '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}'
FORMATS = [file.name for file in unspool.formats() if file.has_tools]


def read(text: str, format: str = "hermes", **options: Any) -> unspool.Message:
    """The message, which is the same at every split."""
    whole = unspool.parse(text, format, TOOLS, unmarked_calls=True, id_seed=1, start_in="content", **options)
    for pieces in byte_splits(text.encode()):
        parser = unspool.Parser(format, TOOLS, unmarked_calls=True, id_seed=1, start_in="content", **options)
        for piece in pieces:
            parser.parse_chunk(piece)
        message = parser.finish()
        assert (message.content, message.tool_calls) == (whole.content, whole.tool_calls), pieces
    return whole


def calls(message: unspool.Message) -> list[tuple[str, Any]]:
    assert all(call.is_complete for call in message.tool_calls)
    return [(call.name, json.loads(call.arguments)) for call in message.tool_calls]


@pytest.mark.parametrize(
    "text",
    [
        WEATHER,
        f"```json\n{WEATHER}\n```",
        f"```json\n{json.dumps(json.loads(WEATHER), indent=2)}\n```<|im_end|>",
        f"Sure.\n{WEATHER}",
        f"[{WEATHER}]",
        '{"arguments": {"city": "Paris", "days": 3}, "name": "get_weather"}',
        '{"name": "get_weather", "city": "Paris", "days": 3}',
        '{"function": {"name": "get_weather", "arguments": "{\\"city\\": \\"Paris\\", \\"days\\": 3}"}}',
    ],
)
def test_an_object_that_fits_is_a_call(text: str) -> None:
    assert calls(read(text)) == [("get_weather", {"city": "Paris", "days": 3})]


def test_several_in_one_fence() -> None:
    fence = f'```json\n{WEATHER}\n{{"name": "now", "arguments": {{}}}}\n```\n'
    message = read(fence)
    assert calls(message) == [("get_weather", {"city": "Paris", "days": 3}), ("now", {})]
    assert message.content.strip() == ""
    quoted = read(f"{fence}That is what the page says.")
    assert not quoted.tool_calls
    assert quoted.content == f"{fence}That is what the page says."


@pytest.mark.parametrize(
    "text",
    [
        WEATHER.replace("get_weather", "hello"),  # no tool of the request's
        WEATHER.replace('"days"', '"day"'),  # an argument that the tool does not have
        WEATHER.replace("3", '"three"'),  # of another type
        WEATHER.replace('"city": "Paris", ', ""),  # a required one is missing
        WEATHER[:-1],  # cut off
        '{"city": "Paris", "days": 3}',
        f"An example: {WEATHER}",  # within a line
        f"```python\nprint('hi')\n```\n{WEATHER[:30]}",
    ],
)
def test_what_does_not_fit_is_content(text: str) -> None:
    message = read(text)
    assert message.tool_calls == ()
    assert message.content == text
    assert not message.malformed


PYTHON = ["granite_pythonic", "lfm2", "llama4_pythonic", "olmo3", "pythonic"]


@pytest.mark.parametrize("format", PYTHON)
@pytest.mark.parametrize("before", ["", "Sure.\n"])
def test_a_family_of_python_calls_writes_them_without_markers(format: str, before: str) -> None:
    message = read(f'{before}[get_weather(city="Paris", days=3), now()]', format)
    assert calls(message) == [("get_weather", {"city": "Paris", "days": 3}), ("now", {})]
    assert message.content.strip() == before.strip()
    assert calls(read(f"{before}[{WEATHER}]", format)) == [("get_weather", {"city": "Paris", "days": 3})]


@pytest.mark.parametrize("format", PYTHON)
@pytest.mark.parametrize(
    "text",
    ["[1, 2]", "[see(this)]", '[{"a": 1}]', "[link](get_weather)", "So [get_weather(city='Paris')]", "["],
)
def test_other_brackets_are_content(format: str, text: str) -> None:
    message = read(f"Look.\n{text}", format)
    assert (message.content, message.tool_calls, message.malformed) == (f"Look.\n{text}", (), ())


def test_it_is_off_by_default_and_without_tools() -> None:
    assert unspool.parse(WEATHER, "hermes", TOOLS).content == WEATHER
    assert unspool.parse(WEATHER, "hermes", unmarked_calls=True).content == WEATHER
    assert unspool.parse(WEATHER, "hermes", [], unmarked_calls=True).content == WEATHER


@pytest.mark.parametrize("format", FORMATS)
def test_it_works_beside_every_format(format: str) -> None:
    text = f"```json\n{WEATHER}\n```"
    message = unspool.parse(text, format, TOOLS, unmarked_calls=True, start_in="content")
    assert calls(message) == [("get_weather", {"city": "Paris", "days": 3})]
    wanted = unspool.parse("Just text.\n{1}", format, TOOLS, start_in="content")
    assert (
        unspool.parse("Just text.\n{1}", format, TOOLS, unmarked_calls=True, start_in="content").content
        == wanted.content
    )


@pytest.mark.parametrize(
    ("after", "count"), [("I did not run it.", 0), ("", 1), ("```\ncall:Bash{command:ls}\n```", 2)]
)
def test_a_quoted_call_is_one_if_no_prose_follows(after: str, count: int) -> None:
    output = f"The page says:\n```\ncall:Bash{{command:rm -rf /}}\n```\n{after}"
    tools = [{"name": "Bash", "parameters": {"properties": {"command": {"type": "string"}}}}]
    for pieces in ([output], list(output)):
        parser = unspool.Parser("gemma4", tools, unmarked_calls=True, start_in="content")
        for piece in pieces:
            parser.parse_chunk(piece)
        message = parser.finish()
        assert len(message.tool_calls) == count
        assert count or message.content == output
