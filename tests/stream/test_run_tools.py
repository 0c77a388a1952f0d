"""`run_tools`: one message for each complete call, whatever happens in it."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
from typing import Any

import pytest
import unspool
from unspool import ArgumentError, Message, ToolCall, run_tools

pytest.importorskip("jsonschema")


class Unit(enum.Enum):
    C = "c"


@dataclasses.dataclass
class Place:
    city: str


def get_weather(city: str, days: int = 1) -> dict[str, Any]:
    """The weather."""
    return {"city": city, "days": days, "°C": 21}


def fail(why: str) -> None:
    raise RuntimeError(why)


def typed(place: Place, unit: Unit | None = None, day: datetime.date | None = None) -> str:
    return f"{place!r} {unit!r} {day!r}"


def message(*calls: tuple[str, str], **changes: Any) -> Message:
    made = [ToolCall(f"call_{i}", name, text, "complete") for i, (name, text) in enumerate(calls)]
    return Message("", "", tuple(made), "tool_calls", **changes)


def content(call: tuple[str, str], functions: Any = (get_weather, fail, typed), **options: Any) -> Any:
    (made,) = run_tools(message(call), functions, **options)
    assert made["role"] == "tool"
    assert made["tool_call_id"] == "call_0"
    assert made["name"] == call[0]
    try:
        return json.loads(made["content"])
    except ValueError:
        return made["content"]


def test_the_next_turn_of_an_agent() -> None:
    text = "".join(
        f'<tool_call>{{"name": "get_weather", "arguments": {{"city": "{city}"}}}}</tool_call>'
        for city in ("Paris", "Rome")
    )
    answer = unspool.parse(text, "hermes", tools=[get_weather])
    for given in (answer, answer.to_openai()):
        for functions in ({"get_weather": get_weather}, [get_weather]):
            results = run_tools(given, functions)
            assert [made["tool_call_id"] for made in results] == [call.id for call in answer.tool_calls]
            assert [json.loads(made["content"])["city"] for made in results] == ["Paris", "Rome"]
    assert "°C" in results[0]["content"]


def test_what_goes_wrong_is_the_result() -> None:
    assert content(("nowhere", "{}")) == {
        "error": "there is no tool 'nowhere'; the tools are get_weather, fail, typed"
    }
    assert content(("get_weather", '{"city": 5}'))["error"].startswith("#/city: 5 is not of type 'string'")
    assert "'city' is a required property" in content(("get_weather", "{}"))["error"]
    assert content(("get_weather", "{}"), check=False) == {
        "error": "the arguments do not fit: missing a required argument: 'city'"
    }
    assert content(("fail", '{"why": "no network"}')) == {"error": "RuntimeError: no network"}
    assert len(content(("fail", json.dumps({"why": "x" * 10_000})))["error"]) == 2_000
    assert content(("get_weather", "not JSON"))["error"].startswith("#: the arguments are not JSON")


def test_calls_that_are_not_complete_have_no_message() -> None:
    """The next turn's assistant message leaves them out too."""
    calls = (ToolCall("a", "fail", '{"why', "incomplete"), ToolCall("b", "fail", "?", "malformed"))
    cut = Message("", "", calls, "length")
    assert run_tools(cut, [fail]) == []
    assert "tool_calls" not in cut.to_openai()


def test_a_parameter_gets_the_type_that_it_is_annotated_with() -> None:
    pytest.importorskip("msgspec")
    text = '{"place": {"city": "Paris"}, "unit": "c", "day": "2026-11-28"}'
    expected = "Place(city='Paris') <Unit.C: 'c'> datetime.date(2026, 11, 28)"
    assert content(("typed", text)) == expected
    wrong = '{"place": {"city": "Paris"}, "day": "tomorrow"}'
    assert content(("typed", wrong), check=False)["error"].startswith("'day' cannot be read as date")


def test_results_become_text() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Model", day=(datetime.date, ...))(day="2026-11-28")
    for result, expected in [
        ("plain", "plain"),
        (None, None),
        (Place("Rome"), {"city": "Rome"}),
        ({1, 2}, [1, 2]),
        ([model], [{"day": "2026-11-28"}]),
        (datetime.date(2026, 11, 28), "2026-11-28"),
    ]:
        made = content(("get", "{}"), {"get": lambda result=result: result}, check=False)
        assert made == expected
    endless: list[Any] = []
    endless.append(endless)
    assert "ValueError" in content(("get", "{}"), {"get": lambda: endless})["error"]


def test_a_custom_tool_gets_its_input() -> None:
    chat = {"role": "assistant", "tool_calls": [
        {"id": "1", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}
    ]}  # fmt: skip
    (made,) = run_tools(chat, {"run": lambda input: input.upper()})
    assert made["content"] == "PRINT(1)"


def test_wrong_arguments_raise_before_anything_runs() -> None:
    ran = []

    async def later() -> None: ...

    def positional(value: int, /) -> None: ...

    with pytest.raises(ArgumentError, match="'later' is asynchronous"):
        run_tools(message(), [later])
    with pytest.raises(ArgumentError, match="is no function with a name"):
        run_tools(message(), [lambda: 1])
    with pytest.raises(ArgumentError, match="message is a str"):
        run_tools("hi", [])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="is no call of a chat message"):
        run_tools({"tool_calls": [{"name": "x"}]}, [])
    calls = message(("first", "{}"), ("positional", '{"value": 1}'))
    with pytest.raises(ArgumentError, match="positional only"):
        run_tools(calls, {"first": lambda: ran.append(1), "positional": positional})
    assert not ran
    assert run_tools({"role": "assistant", "content": "hi"}, []) == []
