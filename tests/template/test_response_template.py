"""What a user of response templates sees: loading, streaming, prompts, faults, token ids."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
import unspool
from unspool.core.format.response_template import format_from_response_template

from .templates import CASES, TOOLS

TEMPLATES = {case.name: case.template for case in CASES}


def _format(name: str) -> unspool.Format:
    return unspool.Format.from_response_template(TEMPLATES[name])


def _fields(**fields: Any) -> dict[str, Any]:
    return {"start_anchor": "<a>", "fields": fields}


def test_from_a_tokenizer_that_has_one() -> None:
    template = TEMPLATES["qwen3"]
    holders = [
        SimpleNamespace(response_template=template),
        SimpleNamespace(init_kwargs={"response_template": template}),
        SimpleNamespace(tokenizer=SimpleNamespace(response_template=template)),
    ]
    for holder in holders:
        format = format_from_response_template(holder)
        assert unspool.parse("<think>a</think>b", format).reasoning == "a"
    with pytest.raises(unspool.ArgumentError, match="no response_template"):
        format_from_response_template(SimpleNamespace(response_template=None))


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ({"fields": {"content": {}}}, "start_anchor"),
        ({"start_anchor": "a", "fields": {}}, "at least one field"),
        ({"start_anchor": "a", "version": 2, "fields": {"content": {}}}, "version"),
        ({"start_anchor": "a", "start_anchor_pattern": "b", "fields": {"content": {}}}, "both"),
        ({"start_anchor": "a", "fields": {"content": {}}, "more": 1}, "unknown key 'more'"),
        (_fields(content={"opens": "a"}), "field 'content': unknown key 'opens'"),
        (_fields(content={}, thinking={}), "more than one field"),
        (_fields(content={"open": ""}), "empty string"),
        (_fields(content={"open": []}), "empty list"),
        (_fields(content={"open": 1}), "not a string"),
        (_fields(content={"open": "a", "open_pattern": "b"}), "both"),
        (_fields(content={"content": "yaml"}), "unknown content parser 'yaml'"),
        (_fields(content={"open_pattern": "(?P<n>a)"}), "named groups without a transform"),
        (_fields(content={"open_pattern": r"(a)\1"}), r"field 'content': pattern .* back-reference"),
        (_fields(content={"close_pattern": "(?<=a)b"}), "look-behind"),
        (_fields(content={"join": ""}), "'join' needs"),
        (_fields(content={"transform_each": True}), "without a transform"),
        (_fields(content={"transform": {"a": "x {content}"}}), "mixes a placeholder"),
        (_fields(content={"content": "xml-inline"}), "tag_pattern"),
        (_fields(content={"content": "xml-inline", "content_args": {"tag_pattern": "a"}}), "'key'"),
        (_fields(content={"content": "json", "content_args": {"string_delims": [["a"]]}}), "pairs"),
        (_fields(content={"open": {1}}), "not JSON"),
    ],
)
def test_what_cannot_be_compiled_says_why(template: dict[str, Any], why: str) -> None:
    with pytest.raises(unspool.FormatError, match=why):
        unspool.Format.from_response_template(template)


@pytest.mark.parametrize(
    ("name", "opener", "body", "before"),
    [
        ("qwen3", "<tool_call>", '{"name": "f", "arguments": {"s": "abc', '{"s": "abc'),
        ("gemma4", "<|tool_call>call:f", '{s:<|"|>abc', '{"s":"abc'),
        ("gpt_oss", "<|channel|>commentary to=functions.f <|message|>", '{"s": "abc', '{"s": "abc'),
        ("inkling", "<|call|>", '{"name": "f", "args": {"s": "abc', '{"s": "abc'),
        ("qwen3_5", "<tool_call><function=f>", "<parameter=s>abc</parameter><par", '{"s": "abc"'),
    ],
)
def test_arguments_come_before_the_region_ends(name: str, opener: str, body: str, before: str) -> None:
    parser = unspool.Parser(_format(name), TOOLS)
    deltas = parser.parse_chunk(opener + body)
    assert [delta.name for delta in deltas if delta.kind == "tool_call_begin"] == ["f"]
    assert "".join(delta.text for delta in deltas if delta.kind == "tool_call_arguments") == before
    message = parser.finish("length")
    assert message.tool_calls[0].status == "incomplete"


def test_a_value_that_may_be_cast_waits_for_its_end() -> None:
    parser = unspool.Parser(_format("qwen3"), TOOLS)
    told = parser.parse_chunk('<tool_call>{"name": "f", "arguments": {"n": "1')
    told += parser.parse_chunk('2", "s": "7"}}</tool_call>')
    assert "".join(d.text for d in told if d.kind == "tool_call_arguments") == '{"n": 12, "s": "7"}'


def test_text_comes_at_once() -> None:
    parser = unspool.Parser(_format("qwen3"))
    assert [d.text for d in parser.parse_chunk("Hello <")] == ["Hello"]
    assert [d.text for d in parser.parse_chunk("b> ")] == [" <b>"]
    parser.parse_chunk("<think>")
    assert parser.region == "reasoning"
    assert [(d.kind, d.text) for d in parser.parse_chunk("hm</thi")] == [("reasoning", "hm")]
    assert parser.held == (b"</thi", "marker")
    assert parser.held_bytes == len("</thi")
    assert parser.held_markers == []


@pytest.mark.parametrize("audit", [False, True])
def test_what_is_held_is_the_end_of_the_input(audit: bool) -> None:
    parser = unspool.Parser(_format("qwen3"), TOOLS, audit=audit)
    fed = ""
    for letter in '<think>hm</think>ok<tool_call>{"name": "f", "arguments": {"n": "12"}}</tool_call>':
        fed += letter
        parser.parse_chunk(letter)
        text, reason = parser.held
        assert fed.endswith(text.decode()), (fed, text)
        assert len(text) == parser.held_bytes
        assert (text == b"") == (reason == "none")
    assert parser.finish("stop").tool_calls[0].arguments == '{"n": 12}'
    assert parser.held == (b"", "none")


@pytest.mark.parametrize(
    ("prompt", "output", "reasoning", "content"),
    [
        ("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n", "a</think>b", "a", "b"),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", "b", "", "b"),
        ("<think><|im_start|>assistant\n", "b", "", "b"),
        ("<|im_start|>assistant\nThe answer", " is 42.", "", " is 42."),
        ("<|im_start|>assistant\n<thi", "nk>a</think>b", "a", "b"),
        ("no anchor <think>", "a</think>b", "a", "b"),
    ],
)
def test_the_prompt_says_where_the_output_begins(
    prompt: str, output: str, reasoning: str, content: str
) -> None:
    message = unspool.parse(output, _format("qwen3"), prompt=prompt)
    assert (message.reasoning, message.content) == (reasoning, content)


def test_a_call_that_the_prompt_begins_is_emitted_whole() -> None:
    prompt = '<|im_start|>assistant\n<tool_call>\n{"name": "f", '
    for pieces in (['"arguments": {"s": "x"}}</tool_call>'], list('"arguments": {"s": "x"}}</tool_call>')):
        parser = unspool.Parser(_format("qwen3"), prompt=prompt)
        for piece in pieces:
            parser.parse_chunk(piece)
        (call,) = parser.finish().tool_calls
        assert (call.name, json.loads(call.arguments), call.status) == ("f", {"s": "x"}, "complete")


@pytest.mark.parametrize(
    ("name", "output", "raw"),
    [
        ("qwen3", "<tool_call>nothing</tool_call>", "<tool_call>nothing</tool_call>"),
        ("qwen3", '<tool_call>{"name": 3}</tool_call>', '<tool_call>{"name": 3}</tool_call>'),
        ("qwen3", '<tool_call>{"name"', '<tool_call>{"name"'),
        ("cohere", "<|START_ACTION|>{}<|END_ACTION|>", "<|START_ACTION|>{}<|END_ACTION|>"),
        ("cohere", "<|START_ACTION|>[1]<|END_ACTION|>", "<|START_ACTION|>[1]<|END_ACTION|>"),
        ("look_ahead", "a[x]b", "[x]"),
        ("gpt_oss", " stray <|channel|>final<|message|>x", "stray"),
        ("gemma4", "<|tool_call>call:f{n:}<tool_call|>", None),
    ],
)
def test_what_cannot_be_read_is_reported_and_kept(name: str, output: str, raw: str | None) -> None:
    message = unspool.parse(output, _format(name), TOOLS)
    (malformed,) = message.malformed
    if raw is None:
        assert malformed.index == 0
        assert message.tool_calls[0].status == "malformed"
    else:
        assert malformed.text == raw
        assert raw in message.content
        assert not message.tool_calls


def test_a_value_that_cannot_be_read_ends_its_call_only() -> None:
    template = _fields(
        tool_calls={
            "open_pattern": "<(?P<name>\\w+)>",
            "close": "</>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {
                "tag_pattern": "(?P<key>\\w+)=(?P<value>[^;]*);",
                "value_parser": {"name": "int"},
            },
            "transform": {"name": "{name}", "arguments": "{content}"},
        },
        content={},
    )
    output = "<f>a=1;b=x;c=2;</><g>a=2;</>"
    format = unspool.Format.from_response_template(template)
    for pieces in ([output], list(output)):
        parser = unspool.Parser(format, audit=True)
        for piece in pieces:
            parser.parse_chunk(piece)
        message = parser.finish()
        assert [call.status for call in message.tool_calls] == ["malformed", "complete"]
        assert [part.text for part in message.malformed] == ["b=x;c=2;"]
        assert "".join(text for _, text in message.audit) == output


@pytest.mark.parametrize(
    ("arguments", "options", "reason"),
    [
        ('{"n": 1, "n": 2}', {}, "two of the arguments have one name"),
        ('{"x": 1e400}', {}, "a number is too large for a double"),
        ('{"s": "long"}', {"max_argument_bytes": 8}, "the arguments are longer than max_argument_bytes"),
        ('{"list": [[1]]}', {"max_depth": 2}, "the arguments are nested deeper than max_depth"),
    ],
)
def test_arguments_that_may_not_be_make_the_call_malformed(
    arguments: str, options: dict[str, Any], reason: str
) -> None:
    output = f'<tool_call>{{"name": "f", "arguments": {arguments}}}</tool_call>'
    message = unspool.Parser(_format("qwen3"), TOOLS, **options).parse(output)
    (call,) = message.tool_calls
    assert call.status == "malformed"
    assert reason in [item.reason for item in message.malformed]


def test_required_fields_defaults_and_further_fields() -> None:
    template = {
        "start_anchor": "<a>",
        "defaults": {"role": "assistant", "content": "-", "score": 0},
        "fields": {
            "content": {"open": "<c>", "close": "</c>"},
            "score": {"open": "<s>", "close": "</s>", "content": "int", "optional": False},
            "links": {"open": "[", "close": "]", "repeats": True},
        },
    }
    format = unspool.Format.from_response_template(template)
    message = unspool.parse("<s> 4 </s>[x][y]", format)
    assert (message.content, message.extra) == ("-", {"score": 4, "links": ["x", "y"]})
    message = unspool.parse("<c>x</c>", format)
    assert (message.content, message.extra) == ("x", {"score": 0})
    assert [part.reason for part in message.malformed] == ["a field that the template requires is missing"]


def test_token_ids(qwen: Any) -> None:
    format = _format("qwen3")
    text = 'Hi\n<tool_call>\n{"name": "f", "arguments": {"s": "é"}}\n</tool_call><|im_end|>\n'
    ids = qwen.encode("<think>a</think>" + text)
    ids += [qwen.vocabulary.find_added("<|im_end|>")]
    streamer = unspool.TokenStreamer(qwen.tokenizer, format, TOOLS)
    for id in ids:
        streamer.put([id])
    message = streamer.finish()
    assert (message.reasoning, message.content) == ("a", "Hi")
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("f", '{"s": "é"}')]
    assert message.token_counts.total == len(ids)
    assert not message.malformed


def test_a_prompt_of_token_ids(qwen: Any) -> None:
    prompt = [
        qwen.vocabulary.find_added("<|im_start|>"),
        *qwen.encode("assistant\n<think>\n"),
    ]
    streamer = unspool.TokenStreamer(qwen.tokenizer, _format("qwen3"), prompt=prompt)
    streamer.put(qwen.encode("a</think>b"))
    message = streamer.finish()
    assert (message.reasoning, message.content) == ("a", "b")


def test_tokens_outside_of_every_field_are_markup(qwen: Any) -> None:
    template = _fields(thinking={"open": "<think>", "close": "</think>"})
    format = unspool.Format.from_response_template(template)
    ids = [*qwen.encode("<think>a</think>"), qwen.vocabulary.find_added("<|im_end|>")]
    streamer = unspool.TokenStreamer(qwen.tokenizer, format)
    streamer.put(ids)
    message = streamer.finish()
    assert (message.reasoning, message.content, message.malformed) == ("a", "", ())


@pytest.mark.parametrize(
    ("name", "begin", "piece"),
    [
        ("nemotron3", "", "some thought "),
        ("gpt_oss", "<|channel|>commentary to=functions.f ", "abcdef"),
        ("qwen3", "", "text \n <"),
        ("qwen3", '<tool_call>{"name": "f", "arguments": {"s": "', "abc \\n "),
        ("glm4moe", "", "text \n"),
        ("qwen3_5", "<tool_call><function=f><parameter=s>", "abc < "),
    ],
)
def test_time_is_linear(name: str, begin: str, piece: str) -> None:
    def seconds(count: int) -> float:
        best = float("inf")
        for _ in range(3):
            parser = unspool.Parser(_format(name), keep_message=False)
            parser.parse_chunk(begin)
            start = time.process_time()
            for _ in range(count):
                parser.parse_chunk(piece)
            parser.finish()
            best = min(best, time.process_time() - start)
        return best

    assert seconds(16_000) < 50 * seconds(1_000) + 0.02


def test_starts_in_reasoning() -> None:
    format = _format("qwen3")
    assert format.starts_in_reasoning("<|im_start|>assistant\n<think>\n")
    assert not format.starts_in_reasoning("<think><|im_start|>assistant\n")
    message = unspool.parse("a</think>b", format, start_in="reasoning")
    assert (message.reasoning, message.content) == ("a", "b")
