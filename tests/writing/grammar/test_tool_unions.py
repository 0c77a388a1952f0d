"""A tool whose parameters are a union of objects: calls of every format fit one of them, and each can be written."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import unspool

from .law import faults
from .tools import fragments_of
from .walks import Walker

FILES = [file for file in unspool.formats() if file.has_tools]


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


STRING, INTEGER = {"type": "string"}, {"type": "integer"}
UNIONS: dict[str, Any] = {
    "other names": {"anyOf": [_object(["path"], path=STRING), _object(["id"], id=INTEGER)]},
    "one of two": {**_object([], path=STRING, id=INTEGER), "anyOf": [{"required": ["path"]}, {"required": ["id"]}]},
    "a kind": {"oneOf": [
        _object(["kind", "n"], kind={"const": "one"}, n=INTEGER), _object(["kind"], kind={"const": "two"}),
    ]},
    "listed": {"enum": [{"path": "a", "id": "x"}, {"path": "b"}]},
    "a reference": {"$ref": "#/$defs/u", "$defs": {
        "u": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]},
        "a": _object(["path"], path=STRING), "b": _object(["id"], id=INTEGER),
    }},
}  # fmt: skip


def written(file: unspool.FormatFile, schema: Any, seeds: int) -> tuple[set[str], tuple[Any, ...]]:
    """The arguments of calls that walks through the grammar end with, and what it left out; they fit the schema."""
    tools = [{"name": "f", "parameters": schema}]
    try:
        grammar = file.grammar(tools, tool_choice="required", parallel=False, strict=True)
    except unspool.ArgumentError:
        return set(), ()
    found = set()
    for seed in range(seeds):
        text = Walker.of(grammar.text, fragments_of(file, tools), random.Random(seed)).walk(60, 1500)
        if text is not None:
            assert not faults(file, text, tools, True, bool(grammar.dropped)), text
            found |= {call.arguments for call in unspool.parse(text, file, tools=tools).tool_calls}
    return found, grammar.dropped


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("union", UNIONS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_calls_fit_one_of_the_objects(file: unspool.FormatFile, union: str) -> None:
    _, dropped = written(file, UNIONS[union], 3)
    assert not dropped


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "pythonic", "glm47", "deepseek_v32", "gemma4"])
def test_each_object_can_be_written(name: str) -> None:
    found, _ = written(unspool.get_format(name), UNIONS["a kind"], 40)
    assert {json.loads(text)["kind"] for text in found} == {"one", "two"}


@pytest.mark.parametrize("name", ["qwen3_coder", "pythonic"])
def test_a_name_with_two_types_is_left_to_the_caller(name: str) -> None:
    """A parser types text by the parameter's name, so `5` is a number here, whatever else the call has."""
    schema = {"anyOf": [_object(["a", "b"], a=STRING, b=STRING), _object(["a"], a=INTEGER)]}
    found, dropped = written(unspool.get_format(name), schema, 40)
    assert [(one.path, one.keyword) for one in dropped] == [("f#", "anyOf")]
    assert all("a" in json.loads(text) for text in found)
