"""A call's arguments as a dict and as types of the caller."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, TypedDict

import pytest
import unspool
from unspool import ArgumentError, ToolCall, ToolCallError

TEXT = '{"city": "Paris", "days": [1, 2], "at": {"lat": 1.5}}'
VALUE = {"city": "Paris", "days": [1, 2], "at": {"lat": 1.5}}


def call(arguments: str, status: Any = "complete") -> ToolCall:
    return ToolCall("call_1", "get_weather", arguments, status)


def test_args_is_a_dict_read_once() -> None:
    made = call(TEXT)
    assert made.args == VALUE
    assert made.args is made.args
    assert made == call(TEXT)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other.args == VALUE


@pytest.mark.parametrize("end", range(len(TEXT)))
def test_of_a_call_that_was_cut_off_args_has_the_final_members(end: int) -> None:
    found = call(TEXT[:end], "incomplete").args
    assert found.items() <= VALUE.items() or "at" in found or "days" in found
    if end <= TEXT.index(","):
        assert found in ({}, {"city": "Paris"})
    assert (found.get("city") == "Paris") == (end >= len('{"city": "Paris"'))


@pytest.mark.parametrize(
    "text",
    ["", "[1]", "null", "nonsense", '{"a": 1', "{" * 100_000, '{"a":' * 100_000, '{"a": "\\ud800"}', "\x00"],
)
def test_no_arguments_raise(text: str) -> None:
    for status in ("complete", "incomplete", "malformed"):
        assert isinstance(call(text, status).args, dict)


@dataclasses.dataclass
class Place:
    lat: float


@dataclasses.dataclass
class Weather:
    city: str
    days: list[int]
    at: Place


class WeatherDict(TypedDict):
    city: str
    days: list[int]
    at: Place


def kinds() -> dict[str, Any]:
    pydantic, msgspec = pytest.importorskip("pydantic"), pytest.importorskip("msgspec")
    fields = {"city": str, "days": list[int], "at": Place}
    return {
        "pydantic": pydantic.create_model("Weather", **{key: (kind, ...) for key, kind in fields.items()}),
        "pydantic dataclass": pydantic.dataclasses.dataclass(Weather),
        "msgspec": msgspec.defstruct("Weather", list(fields.items())),
        "dataclass": Weather,
        "TypedDict": WeatherDict,
    }


@pytest.mark.parametrize("name", ["pydantic", "pydantic dataclass", "msgspec", "dataclass", "TypedDict"])
def test_as_reads_each_kind_of_type(name: str) -> None:
    kind = kinds()[name]
    made: Any = call(TEXT).as_(kind)
    if name == "TypedDict":
        assert made == {**VALUE, "at": Place(1.5)}
    else:
        assert isinstance(made, kind)
        assert (made.city, made.days, made.at.lat) == ("Paris", [1, 2], 1.5)
    for wrong in (TEXT[:-3], '{"city": 5, "days": [1], "at": {"lat": 1}}', "{}", "[" * 100_000):
        with pytest.raises(ToolCallError, match="the arguments of 'get_weather' cannot be read as Weather"):
            call(wrong).as_(kind)


def test_a_type_that_json_cannot_be_read_as_is_the_callers_mistake() -> None:
    pytest.importorskip("msgspec")
    with pytest.raises(ArgumentError, match="5 cannot be read from JSON"):
        call("{}").as_(5)  # type: ignore[arg-type]


def test_violations_are_those_of_the_requests_tool() -> None:
    def get_weather(city: str, days: int = 1) -> None:
        pass

    text = '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris", "days": "two"}}</tool_call>'
    (found,) = unspool.parse(text, "hermes", tools=[get_weather]).tool_calls[0].violations
    assert (found.path, found.rule) == ("#/days", "type")
