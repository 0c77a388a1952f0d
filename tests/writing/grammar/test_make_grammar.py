"""What the method takes, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
import unspool
from llguidance import LLMatcher, LLTokenizer

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 9}, "n": {"type": "integer"}},
            "required": ["city"],
        },
    },
}
NOW: dict[str, Any] = {"name": "now"}
BYTES = LLTokenizer("byte")


def admits(grammar: unspool.writing.grammar.Grammar, text: str) -> bool:
    matcher = LLMatcher(BYTES, grammar.text)
    assert not matcher.is_error(), matcher.get_error()
    taken = matcher.try_consume_tokens(list(text.encode()))
    return bool(taken == len(text.encode()) and matcher.is_accepting())


def call(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def test_auto_leaves_text_free_and_required_does_not() -> None:
    hermes = unspool.get_format("hermes")
    auto, required = (hermes.grammar([WEATHER], tool_choice=choice) for choice in ("auto", "required"))
    whole = call("get_weather", '{"city": "Paris"}')
    for text in ("Hello!", "", "I look.\n" + whole, whole, whole + "\n" + whole):
        assert admits(auto, text)
        assert admits(required, text) == text.startswith("<tool_call>")
    assert not admits(auto, call("other", "{}"))
    assert not admits(auto, call("get_weather", '{"n": "x"}'))


def test_a_named_tool_and_one_call() -> None:
    hermes = unspool.get_format("hermes")
    named = hermes.grammar([WEATHER, NOW], tool_choice="now")
    assert admits(named, call("now", "{}"))
    assert not admits(named, call("get_weather", '{"city": "Paris"}'))
    one = hermes.grammar([NOW], tool_choice="required", parallel=False)
    assert admits(one, call("now", "{}"))
    assert not admits(one, call("now", "{}") + call("now", "{}"))


def test_nothing_follows_the_only_call() -> None:
    """A model that wants a second one would write it as text."""
    one = unspool.get_format("hermes").grammar([NOW], parallel=False)
    assert admits(one, "I look." + call("now", "{}"))
    assert admits(one, "I look.")
    assert not admits(one, call("now", "{}") + 'And {"name": "now"}')
    several = unspool.get_format("hermes").grammar([NOW])
    assert admits(several, call("now", "{}") + "Done.")


def test_reasoning_that_the_prompt_opened_is_part_of_it() -> None:
    qwen = unspool.get_format("qwen3")
    opened = qwen.grammar([NOW], tool_choice="required", prompt="<|im_start|>assistant\n<think>\n")
    assert admits(opened, "Hm.\n</think>\n\n" + call("now", "{}"))
    assert not admits(opened, call("now", "{}"))
    after = qwen.grammar([NOW], tool_choice="required", reasoning=False)
    assert not admits(after, "<think>\nHm.\n</think>\n\n" + call("now", "{}"))
    may = qwen.grammar([NOW], tool_choice="required")
    assert admits(may, "<think>\nHm.\n</think>\n\n" + call("now", "{}"))
    assert admits(may, call("now", "{}"))


def test_strict_says_whether_arguments_follow_the_schema() -> None:
    hermes = unspool.get_format("hermes")
    free = call("get_weather", '{"x": [1]}')
    assert not admits(hermes.grammar([WEATHER]), free)
    assert admits(hermes.grammar([WEATHER], strict=False), free)
    loose = {"type": "function", "function": {**WEATHER["function"], "strict": False}}
    assert admits(hermes.grammar([loose]), free)
    assert not admits(hermes.grammar([loose], strict=True), free)


def test_what_text_cannot_hold_is_listed() -> None:
    dropped = unspool.get_format("qwen3_coder").grammar([WEATHER]).dropped
    assert [(one.path, one.keyword) for one in dropped] == [("get_weather#/properties/city", "maxLength")]
    assert unspool.get_format("hermes").grammar([WEATHER]).dropped == ()


@pytest.mark.parametrize("name", ["qwen3_coder", "glm45", "cwm", "minimax_m3"])
@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "string", "pattern": "^a$"}, "pattern"),
        ({"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer"}]}, "maxLength"),
        ({"anyOf": [{"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}]}, "format"),
        ({"$ref": "#/$defs/x"}, "minLength"),
    ],
)
def test_what_free_text_leaves_out_is_listed(name: str, schema: Any, keyword: str) -> None:
    parameters = {
        "type": "object", "properties": {"a": schema}, "required": ["a"],
        "$defs": {"x": {"type": ["string", "null"], "minLength": 2}},
    }  # fmt: skip
    grammar = unspool.get_format(name).grammar(
        [{"name": "f", "parameters": parameters}], tool_choice="required"
    )
    assert [(one.path, one.keyword) for one in grammar.dropped] == [("f#/properties/a", keyword)]


def test_markers_are_tokens_where_the_tokenizer_has_them(deepseek: Any) -> None:
    file = unspool.get_format("deepseek_v31")
    id = deepseek.tokenizer.token_to_id("<｜tool▁calls▁begin｜>")
    lark = file.grammar([NOW], tool_choice="required", tokenizer=deepseek.tokenizer)
    assert f"<[{id}]>" in lark.text
    assert f'"token": {id}' in file.grammar([NOW], syntax="structural_tag", tokenizer=deepseek.tokenizer).text
    assert f"<[{id}]>" in file.grammar([NOW], syntax="gbnf", tokenizer=deepseek.tokenizer).text
    assert f"<[{id}]>" not in file.grammar([NOW]).text


@pytest.mark.parametrize(
    ("name", "tools", "options", "message"),
    [
        ("hermes", [], {}, "there are no tools"),
        ("hermes", [NOW, NOW], {}, "two tools have one name"),
        ("hermes", [NOW], {"tool_choice": "other"}, "tool_choice is 'other'; use 'auto', 'required' or one"),
        ("hermes", [NOW], {"syntax": "yacc"}, "syntax is 'yacc'; use one of 'lark'"),
        ("hermes", [NOW], {"reasoning": True}, "format 'hermes' has no reasoning"),
        (
            "hermes",
            [{"name": "f", "parameters": {"type": "string"}}],
            {},
            "the parameters of 'f' are not an object",
        ),
        ("qwen3_coder", [{"name": "a>b"}], {}, "cannot write the tool name 'a>b'"),
        ("glm47", [{"name": "a\nb"}], {}, "cannot write the tool name"),
        ("pythonic", [{"name": "a b"}], {}, "'a b' is not a Python name"),
        ("cwm", [WEATHER], {}, "the tool 'get_weather' has 2 parameters"),
    ],
)
def test_what_is_refused(name: str, tools: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(unspool.ArgumentError, match=message):
        unspool.get_format(name).grammar(tools, **options)


def test_a_format_without_calls() -> None:
    with pytest.raises(unspool.FormatError, match="'deepseek_r1' has no calls"):
        unspool.get_format("deepseek_r1").grammar([NOW])


@pytest.mark.parametrize("name", ["json", "xlam"])
@pytest.mark.parametrize("before", ["", "\n", "It is:\n"])
def test_a_fenced_call_begins_a_line(name: str, before: str) -> None:
    tools = [{"name": "now", "parameters": {"properties": {}, "additionalProperties": False}}]
    grammar = unspool.get_format(name).grammar(tools)
    one = '{"name": "now", "arguments": {}}'
    fenced = f"```json\n{f'[{one}]' if name == 'xlam' else one}\n```"
    assert admits(grammar, before + fenced)
    assert not admits(grammar, "It is: " + fenced)
