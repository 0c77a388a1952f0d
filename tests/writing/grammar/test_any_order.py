"""With `any_order` the arguments of a call and the keys of an object come in any order, each at most once."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import unspool
from unspool import json_grammar

from ...outputs import render
from .law import faults
from .matchers import LlguidanceMatcher, Matcher, XgrammarMatcher
from .test_cases_are_admitted import NEVER_AS_WRITTEN
from .tools import fragments_of, tools_for
from .walks import Walker

FORMATS = [file.name for file in unspool.formats() if file.has_tools]
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "integer"} for name in "abcd"},
    "required": ["a", "c"],
}


def matchers(schema: Any, **options: Any) -> list[Matcher]:
    found: list[Matcher] = [LlguidanceMatcher(json_grammar(schema, **options).text)]
    for syntax in ("structural_tag", "gbnf"):
        text = json_grammar(schema, syntax=syntax, **options).text  # type: ignore[arg-type]
        found.append(XgrammarMatcher(text, syntax))
    return found


def is_admitted(matcher: Matcher, keys: Any) -> bool:
    text = ("{" + ",".join(f'"{key}":1' for key in keys) + "}").encode()
    matcher.restart()
    if matcher.admits(text) < len(text):
        return False
    matcher.take(text)
    return matcher.may_end()


def test_each_key_comes_once_in_any_order() -> None:
    for matcher in matchers(SCHEMA, any_order=True):
        for size in range(6):
            for keys in (
                itertools.product("abcd", repeat=size) if size < 4 else itertools.permutations("abcd", size)
            ):
                expected = len(set(keys)) == len(keys) and {"a", "c"} <= set(keys)
                assert is_admitted(matcher, keys) == expected, keys


def test_an_object_without_required_keys_may_be_empty() -> None:
    for matcher in matchers({**SCHEMA, "required": []}, any_order=True):
        assert is_admitted(matcher, "")
        assert is_admitted(matcher, "dba")
        assert not is_admitted(matcher, "dd")


def test_many_keys_and_other_grammars_keep_the_order() -> None:
    many = {"type": "object", "properties": {name: {"type": "integer"} for name in "abcdefg"}}
    for matcher in (*matchers(many, any_order=True), *matchers({**many, **SCHEMA})):
        assert is_admitted(matcher, "abc")
        assert not is_admitted(matcher, "cab")


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("name", FORMATS)
def test_calls_in_any_order_are_read(name: str) -> None:
    file = unspool.get_format(name)
    tools = tools_for(file)
    grammar = file.grammar(tools, tool_choice="required", reasoning=False, any_order=True)
    walker = Walker.of(grammar.text, fragments_of(file, tools), random.Random(name))
    start_in = "content" if file.has_reasoning else "auto"
    for text in (walker.walk(80) for _ in range(4)):
        if text is not None:
            assert faults(file, text, tools, True, start_in=start_in) == [], text
    if name in NEVER_AS_WRITTEN or tools[0]["name"] == "run":
        return
    written = render(file, "", "", [("get_weather", {"unit": "C", "city": "Paris"})])
    matcher = LlguidanceMatcher(grammar.text)
    text = written.removeprefix(render(file, "", "", [])).encode()
    assert matcher.admits(text) == len(text)
