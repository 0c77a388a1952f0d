"""Tools are functions, models of pydantic and msgspec, and the dicts of each protocol."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Optional, TypedDict

import pytest
import unspool
from unspool import ArgumentError, Parser, tool
from unspool.formats.format_file import get_format
from unspool.writing.grammar.tools import without_strict

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
CHAT = {
    "type": "function",
    "function": {"name": "get_weather", "description": "The weather.", "parameters": PARAMETERS},
}


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


def get_weather(city: str, days: int = 1) -> str:
    """The weather."""
    return f"{city} {days}"


# ruff: noqa: ARG001
def many(
    text: str,
    flag: bool,
    ratio: float,
    anything: Any,
    unit: Unit,
    level: Literal["low", "high", 3],
    rows: list[dict[str, int]],
    pair: tuple[int, str],
    either: int | str,
    places: list[list[float]] | dict[str, bool],
    maybe: Optional[int] = None,  # noqa: UP045
    none: str | None = None,
    sort: str = "up",
) -> dict[str, Any]:
    """Does a lot.

    It says so in two paragraphs: like
    this one.

    Args:
        text: Some text,
            on two lines.
        flag (bool): A switch: on or off.
        ratio: Between 0 and 1.

        anything: Whatever.
        unit: Of the answer.
        level: How much.
        rows: Of numbers.
        pair: A number and its name.
        either: One of them.
        places: Where.
        maybe: Not needed.
        none: Nor this.
        sort: The order. (choices: ["up", "down"])

    Returns:
        What it did.

    Raises:
        ValueError: Never.
    """
    return {}


class Method:
    def get(self, city: str) -> str:
        """Get it.

        Args:
            city: The city.
        """
        return city


@pytest.mark.parametrize("function", [many, Method().get, Method.get], ids=["many", "bound", "unbound"])
def test_a_function_is_read_as_transformers_reads_it(function: Any) -> None:
    schemas = pytest.importorskip("transformers.utils.chat_template_utils")
    expected = schemas.get_json_schema(function)
    expected["function"].pop("return", None)  # no API has it
    made = tool(function)
    if function is Method.get:
        assert "self" in made["function"]["parameters"]["properties"]  # here it is a parameter as others
        del made["function"]["parameters"]["properties"]["self"]
        made["function"]["parameters"]["required"].remove("self")
    assert made == expected


def test_what_transformers_refuses_is_read_too() -> None:
    def free(where, *rest: int, many: list[int] = [], values: Sequence[str] = (), **more: Any) -> None:  # type: ignore[no-untyped-def]  # noqa: B006
        pass

    def noted(city: Annotated[str, "In English."]) -> None:
        pass

    assert tool(free)["function"] == {
        "name": "free",
        "parameters": {
            "type": "object",
            "properties": {
                "where": {},
                "many": {"type": "array", "items": {"type": "integer"}},
                "values": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["where"],
        },
    }
    properties = tool(noted)["function"]["parameters"]["properties"]
    assert properties == {"city": {"type": "string", "description": "In English."}}
    assert tool(functools.partial(get_weather, days=2))["function"]["name"] == "get_weather"
    assert tool(lambda city: city, name="echo", description="It echoes.", strict=True)["function"] == {
        "name": "echo",
        "description": "It echoes.",
        "strict": True,
        "parameters": {"type": "object", "properties": {"city": {}}, "required": ["city"]},
    }


def pydantic_model() -> Any:
    pydantic = pytest.importorskip("pydantic")

    class get_weather(pydantic.BaseModel):
        """The weather."""

        city: str
        days: int = 1

    return get_weather


@dataclasses.dataclass
class Weather:
    city: str
    days: int = 1


class Query(TypedDict):
    city: str


class Tree(TypedDict):
    children: list[Tree]


SOURCES: dict[str, Any] = {
    "function": lambda: get_weather,
    "pydantic": pydantic_model,
    "chat": lambda: CHAT,
    "responses": lambda: {"type": "function", **CHAT["function"]},  # type: ignore[dict-item]
    "messages": lambda: {"name": "get_weather", "description": "The weather.", "input_schema": PARAMETERS},
    "mcp": lambda: {
        "name": "get_weather",
        "title": "Weather",
        "description": "The weather.",
        "inputSchema": PARAMETERS,
        "annotations": {"readOnlyHint": True},
    },
}


def plain(schema: Any) -> Any:
    """A schema without what pydantic adds."""
    if not isinstance(schema, dict):
        return schema
    return {key: plain(value) for key, value in schema.items() if key not in ("title", "default")}


@pytest.mark.parametrize("name", SOURCES)
def test_each_source_becomes_the_same_tool(name: str) -> None:
    source = SOURCES[name]()
    made = tool(source)
    assert plain(made["function"]["parameters"]) == PARAMETERS
    assert made["function"]["name"] == "get_weather"
    assert made["function"]["description"] == "The weather."
    assert made["type"] == "function"
    assert json.loads(json.dumps(made)) == made


@pytest.mark.parametrize("name", SOURCES)
def test_each_source_types_the_arguments_and_makes_a_grammar(name: str) -> None:
    source = SOURCES[name]()
    text = "<tool_call>\n<function=get_weather>\n<parameter=city>\n12\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>"
    call = unspool.parse(text, "qwen3_coder", tools=[source]).tool_calls[0]
    assert call.args == {"city": "12", "days": 2}
    assert call.violations == ()
    assert "city" in get_format("hermes").grammar([source], tool_choice="required").text
    (shown,) = without_strict([source]) or ()
    if name != "responses":
        assert plain(shown["function"]["parameters"]) == PARAMETERS


def test_what_a_type_refers_to_is_among_the_definitions() -> None:
    pytest.importorskip("msgspec")

    def plant(tree: Tree, more: list[Tree], first: Weather, query: Query) -> None:
        pass

    schema = tool(plant)["function"]["parameters"]
    assert set(schema["properties"]) == {"tree", "more", "first", "query"}
    assert schema["properties"]["query"]["properties"] == {"city": {"type": "string"}}
    found = unspool.ToolCall("", "plant", json.dumps({
        "tree": {"children": [{"children": []}]}, "more": [{"children": [{"children": 5}]}],
        "first": {"city": "Rome"}, "query": {"city": "Rome"},
    }), "complete", schema=json.dumps(schema)).violations  # fmt: skip
    assert [violation.path for violation in found] == ["#/more/0/children/0/children"]


def test_two_types_of_one_name_are_refused() -> None:
    pydantic = pytest.importorskip("pydantic")

    def model(kind: Any) -> Any:
        inner = pydantic.create_model("Inner", value=(kind, ...))
        return pydantic.create_model("Outer", inner=(inner, ...))

    def function(one, two) -> None:  # type: ignore[no-untyped-def]
        pass

    function.__annotations__ = {"one": model(int), "two": model(str)}
    with pytest.raises(ArgumentError, match="the parameter 'two': two types are named 'Inner'; rename one"):
        tool(function)


class Opaque:
    pass


def unknown(value: Opaque) -> None:
    pass


def positional(value: int, /) -> None:
    pass


def misspelt(value: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
    pass


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (5, "5 is a int; pass a function, a pydantic model or a dict"),
        (lambda x: x, "has no name; make it by tool"),
        (unknown, "the parameter 'value': Opaque has no JSON Schema"),
        (positional, "the parameter 'value' is positional only"),
        (misspelt, "cannot be read as a tool: name 'Nowhere' is not defined"),
        ({"description": "?"}, "has no name; pass name="),
        ({"type": "custom", "name": "code"}, "a custom tool has a text"),
    ],
)
def test_what_is_no_tool_says_what_to_do(source: Any, message: str) -> None:
    pytest.importorskip("msgspec")
    with pytest.raises(ArgumentError, match=message):
        tool(source)


def test_the_place_of_a_wrong_tool_is_named() -> None:
    with pytest.raises(ArgumentError, match=r"tools\[1\] is a int"):
        Parser("hermes", tools=[get_weather, 5])
