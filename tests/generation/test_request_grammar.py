"""What a request asks for is enforced: a required call, strict tools, the form of the answer."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytest.importorskip("llguidance", reason="needs unspool[constrain]")

import unspool
from unspool import ArgumentError, StreamGenerator
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.generation.prompts.prompt import Prompt, prompt_end
from unspool.writing.grammar.request_grammar import request_grammar
from unspool.writing.grammar.response import Response
from unspool.writing.grammar.response_format import read_response_format

from ..tiny_models import TEMPLATE
from .helpers import BACKENDS

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"enum": ["Paris", "Oslo"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
]
JSON = {"type": "json_schema", "json_schema": {"name": "weather", "schema": SCHEMA, "strict": True}}
PROMPT = "What is the weather?"
DRAWN = {"temperature": 1.0, "seed": 5}


@pytest.fixture(params=BACKENDS)
def generator(request: pytest.FixtureRequest, llama: Any, byte_tokenizer: Any) -> StreamGenerator:
    return StreamGenerator(llama, byte_tokenizer, format="hermes", backend=request.param)


def fits(text: str) -> bool:
    value = json.loads(text)
    return value["city"] in ("Paris", "Oslo") and 1 <= value["days"] <= 9 and len(value) == 2


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "pythonic", "deepseek_v32"])
def test_a_required_call_is_made(generator: Any, name: str) -> None:
    model = generator.with_format(name)
    result = model.generate(
        PROMPT, tools=TOOLS, tool_choice="required", max_new_tokens=600, sampling=DRAWN, start_in="content",
        parallel_tool_calls=False,
    )  # fmt: skip
    message = result.choices[0].message
    (call,) = message.tool_calls
    assert (call.status, message.content) == ("complete", "")
    assert call.name == "now" or fits(call.arguments)


@pytest.mark.parametrize("choice", ["get_weather", {"type": "function", "function": {"name": "get_weather"}}])
def test_a_named_tool_is_called(generator: Any, choice: Any) -> None:
    result = generator.generate(
        PROMPT, tools=TOOLS, tool_choice=choice, max_new_tokens=400, sampling=DRAWN, parallel_tool_calls=False
    )
    (call,) = result.choices[0].message.tool_calls
    assert call.name == "get_weather"
    assert fits(call.arguments)


@pytest.mark.parametrize("response_format", [JSON, {"type": "json_schema", "name": "w", "schema": SCHEMA}])
def test_the_answer_is_json_of_the_schema(generator: Any, response_format: Any) -> None:
    result = generator.generate(PROMPT, response_format=response_format, max_new_tokens=300, sampling=DRAWN)
    assert fits(result.choices[0].message.content)
    assert result.choices[0].finish_reason == "stop"


def prefers(id: int) -> Any:
    """A processor after which the model writes this id wherever it may."""

    def process(_: Any, scores: Any) -> Any:
        scores[:, id] += 1000
        return scores

    return process


def test_any_object_will_do(generator: Any) -> None:
    result = generator.generate(
        PROMPT,
        response_format={"type": "json_object"},
        max_new_tokens=9,
        logits_processor=[prefers(ord("}") - 33)],
    )
    assert result.choices[0].message.content == "{}"


@pytest.mark.parametrize("opener", ["<tool_call>", None])
def test_with_tools_the_answer_is_json_or_calls(
    generator: Any, byte_tokenizer: Any, opener: str | None
) -> None:
    id = ord("{") - 33 if opener is None else byte_tokenizer.convert_tokens_to_ids(opener)
    result = generator.generate(
        PROMPT, tools=TOOLS, response_format=JSON, max_new_tokens=400, parallel_tool_calls=False, sampling=DRAWN,
        logits_processor=[prefers(id)],
    )  # fmt: skip
    message = result.choices[0].message
    assert bool(message.tool_calls) == (opener is not None)
    assert message.content == "" if opener else fits(message.content)


def test_json_that_looks_like_a_call_is_content(generator: Any) -> None:
    schema = {"const": {"name": "f", "parameters": {}}}
    model = generator.with_format("llama3_json")
    result = model.generate(
        PROMPT, response_format={"type": "json_schema", "json_schema": {"schema": schema}}, max_new_tokens=99
    )
    assert json.loads(result.choices[0].message.content) == schema["const"]


def test_reasoning_comes_first(generator: Any, byte_tokenizer: Any) -> None:
    closes = prefers(byte_tokenizer.convert_tokens_to_ids("</think>"))
    model = generator.with_format("qwen3")
    result = model.generate(
        PROMPT, response_format=JSON, max_new_tokens=400, start_in="reasoning", sampling=DRAWN,
        logits_processor=[closes],
    )  # fmt: skip
    assert fits(result.choices[0].message.content)


def grammar_of(byte_tokenizer: Any, format: Any = "hermes", tools: Any = TOOLS, **options: Any) -> Any:
    defaults = {
        "tool_choice": "auto", "response_format": None, "parallel": True, "start_in": "auto", "reasoning": None,
        "read_prompt_end": lambda: None,
    }  # fmt: skip
    given = {**defaults, **options}
    given["response"] = read_response_format(given.pop("response_format"))
    return request_grammar(
        format, given.pop("reasoning"), tools, vocabulary=from_tokenizer(byte_tokenizer), **given
    )


def test_auto_is_free_unless_a_tool_is_strict(byte_tokenizer: Any) -> None:
    assert grammar_of(byte_tokenizer) is None
    strict = [{"type": "function", "function": {**TOOLS[0]["function"], "strict": True}}]  # type: ignore[dict-item]
    assert "get_weather" in grammar_of(byte_tokenizer, tools=strict).text
    assert grammar_of(byte_tokenizer, tools=strict, tool_choice="none") is None
    assert grammar_of(byte_tokenizer, format="none", tools=strict) is None


def test_another_formats_reasoning_is_part_of_it(byte_tokenizer: Any) -> None:
    made = grammar_of(
        byte_tokenizer, "llama3_json", None, response_format=JSON, reasoning="qwen3", start_in="reasoning"
    )
    id = byte_tokenizer.convert_tokens_to_ids("</think>")
    assert f"<[{id}]>" in made.text
    off = grammar_of(byte_tokenizer, "qwen3", None, response_format=JSON, reasoning=False)
    assert f"<[{id}]>" not in off.text


def test_the_prompt_shows_whether_reasoning_is_open(byte_tokenizer: Any) -> None:
    vocabulary = from_tokenizer(byte_tokenizer)
    text = "<|im_start|>assistant\n<think>\n"
    ids = byte_tokenizer(text, return_tensors="pt").input_ids
    assert prompt_end(Prompt(inputs={"input_ids": ids}), vocabulary) == text
    assert prompt_end(Prompt(text=text), vocabulary) == text
    assert prompt_end(Prompt(inputs={"inputs_embeds": ids}), vocabulary) is None
    opened = grammar_of(byte_tokenizer, "qwen3", None, response_format=JSON, read_prompt_end=lambda: text)
    assert opened.text.startswith("start: TEXT_1 <[262]>")


@pytest.mark.parametrize(
    ("format", "options", "message"),
    [
        ("none", {"tools": TOOLS, "tool_choice": "required"}, "has none"),
        ("hermes", {"tools": TOOLS, "tool_choice": "missing"}, "one of the tools"),
        ("hermes", {"response_format": {"type": "xml"}}, "has type 'xml'"),
        ("hermes", {"response_format": {"type": "json_schema"}}, "no schema"),
        ("hermes", {"response_format": "json"}, "of type str"),
        ("hermes", {"response_format": JSON, "grammar": "start: /a/"}, "both given"),
        ("hermes", {"response_format": {"type": "json_schema", "schema": {"enum": []}}}, "schema"),
        ("pythonic", {"tools": [{"name": "a b"}], "tool_choice": "required"}, "not a Python name"),
    ],
)
def test_what_cannot_be_enforced_is_refused_at_the_call(
    generator: Any, format: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        generator.with_format(format).stream(PROMPT, **options)


def test_a_pydantic_model_is_a_response_format() -> None:
    class Weather:
        @staticmethod
        def model_json_schema() -> dict[str, Any]:
            return SCHEMA

    assert read_response_format(Weather) == Response(SCHEMA)
    assert read_response_format({"type": "text"}) is None


def test_the_template_is_not_shown_strict(llama: Any, byte_tokenizer: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(byte_tokenizer, "chat_template", "{{ tools | tojson }}" + TEMPLATE)
    generator = StreamGenerator(llama, byte_tokenizer, format="hermes")
    strict = [{"type": "function", "function": {"name": "f", "strict": True}}]
    plain = [{"type": "function", "function": {"name": "f"}}]
    messages = [{"role": "user", "content": "Hi"}]
    assert generator.tokenize(messages, tools=strict) == generator.tokenize(messages, tools=plain)


def test_a_compiled_format_has_no_grammar_of_calls(byte_tokenizer: Any) -> None:
    from unspool.core.format.compile_format import compile_format

    compiled = compile_format("hermes")
    with pytest.raises(ArgumentError, match="no format file"):
        grammar_of(byte_tokenizer, compiled, tool_choice="required")
    made = grammar_of(byte_tokenizer, compiled, None, response_format=JSON)
    assert made == unspool.json_grammar(SCHEMA)


@pytest.mark.parametrize(
    ("asked", "pattern"),
    [
        ({"choice": ["yes", "yes indeed", 'a\n"b"']}, 'yes|yes indeed|a\n"b"'),
        ({"regex": "[a-c]{2}-(é|😀)+x"}, "[a-c]{2}-(é|😀)+x"),
        ({"response_format": {"type": "regex", "regex": "[0-9]{3}"}}, "[0-9]{3}"),
        (
            {"response_format": {"type": "grammar", "grammar": 'start: "a" DIGIT~2\n%import common.DIGIT'}},
            "a[0-9]{2}",
        ),
        ({"response_format": {"type": "grammar", "grammar": 'root ::= ("x" [0-9]){2}'}}, "(x[0-9]){2}"),
    ],
)
def test_the_answer_is_such_a_text(generator: Any, asked: dict[str, Any], pattern: str) -> None:
    result = generator.generate(PROMPT, **asked, max_new_tokens=300, sampling=DRAWN)
    assert re.fullmatch(pattern, result.choices[0].message.content)
    assert result.choices[0].finish_reason == "stop"


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"choice": ["a"], "regex": "a"}, "one of them"),
        ({"choice": ["a"], "response_format": JSON}, "one of them"),
        ({"regex": "a", "grammar": "start: /a/"}, "one of them"),
        ({"response_format": {"type": "grammar"}}, "no 'grammar'"),
        ({"response_format": {"type": "grammar", "grammar": "start: ("}}, "cannot be read"),
    ],
)
def test_a_constraint_that_cannot_be_read_is_refused_at_the_call(
    generator: Any, asked: Any, why: str
) -> None:
    with pytest.raises(ArgumentError, match=why):
        generator.stream(PROMPT, **asked)
