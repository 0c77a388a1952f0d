"""What is written of a message, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
import unspool
from unspool import ArgumentError
from unspool.testing.marker_tokenizer import END, marker_tokenizer

CALL = {"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}


def tool(**types: Any) -> list[dict[str, Any]]:
    properties = {key: {"type": kind} for key, kind in types.items()}
    return [{"name": "get_weather", "parameters": {"type": "object", "properties": properties}}]


def write(format: str, message: Any, **options: Any) -> str:
    return unspool.get_format(format).render(message, **options)


def write_ids(format: str, message: Any, **options: Any) -> tuple[str, list[int]]:
    """The ids and their text, by a tokenizer that has each marker as a token."""
    file = unspool.get_format(format)
    tokenizer = marker_tokenizer(file)
    ids = file.render_ids(
        message, tokenizer, lambda text: tokenizer.encode(text, add_special_tokens=False).ids, **options
    )
    return tokenizer.decode(ids, skip_special_tokens=False), ids


def refusal(format: str, message: Any, **options: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        write(format, message, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("format", "continues", "text"),
    [
        ("qwen3", False, "<think>\nHm.\n</think>\n\nHi."),
        ("qwen3", True, "<think>\nHm.\n</think>\n\nHi."),
        ("glm47", False, "<think>\nHm.\n</think>\n\nHi."),  # its turn opens the reasoning
        ("glm47", True, "Hm.\n</think>\n\nHi."),
        (
            "openai",
            False,
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|end|>",
        ),
    ],
)
def test_the_text_begins_where_the_turn_leaves_off(format: str, continues: bool, text: str) -> None:
    message = {"content": "Hi.", "reasoning_content": "Hm."}
    assert write(format, message, continues=continues) == text


@pytest.mark.parametrize(
    ("continues", "text"), [(False, "<think>\n\n</think>\n\nHi."), (True, "\n</think>\n\nHi.")]
)
def test_reasoning_that_the_turn_opens_is_closed(continues: bool, text: str) -> None:
    assert write("glm47", {"content": "Hi."}, continues=continues) == text


def test_a_header_that_the_turn_begins_is_not_written_again() -> None:
    assert write("functionary_v32", {"content": "Hi."}, continues=True) == "all\nHi."
    assert write("functionary_v32", {"content": "Hi."}) == ">>>all\nHi."


def test_a_header_that_names_the_tool_stands_before_its_calls() -> None:
    message = {"content": "Hi.", "tool_calls": [CALL]}
    call = (
        '<atem:function_calls>\n<atem:invoke name="get_weather">\n<atem:parameter name="city">Paris</atem:parameter>\n'
        "</atem:invoke>\n</atem:function_calls>"
    )
    said = " to=user<|message|>Hi.<|eom|><|start|>assistant"
    assert write("muse", message, continues=True) == f"{said} to=get_weather<|message|>{call}"


def test_a_content_that_the_calls_close_is_not_closed_twice() -> None:
    patterns = {
        "content": ("${content}<end><text><end><all>",),
        "calls": ("<end><text><uses>${calls}<end><all>",),
        "call": ("<use>${name}<with>${arguments}<used>",),
    }
    file = unspool.FormatFile(name="x", patterns=patterns)
    call = '<use>get_weather<with>{"city": "Paris"}<used>'
    calls = {"tool_calls": [CALL]}
    assert file.render({"content": "Hi."}) == "Hi.<end><text><end><all>"
    assert file.render({"content": "Hi.", **calls}) == f"Hi.<end><text><uses>{call}<end><all>"


def test_line_breaks_that_stand_there_are_not_doubled() -> None:
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
    assert write("qwen3", {"tool_calls": [CALL]}) == call
    assert write("qwen3", {"content": "Hi.", "tool_calls": [CALL]}) == f"Hi.\n{call}"
    assert write("qwen3", {"reasoning": "Hm.", "tool_calls": [CALL]}) == f"<think>\nHm.\n</think>\n\n{call}"


def test_a_parsed_message_is_written_as_it_was_read() -> None:
    text = 'Hi.\n<tool_call>\n{"name": "f", "arguments": {"a":1.50,"b":[]}}\n</tool_call>'
    assert write("hermes", unspool.parse(text, "hermes")) == text


def test_arguments_are_a_dict_or_their_json() -> None:
    for arguments in ({"city": "Paris"}, '{"city": "Paris"}'):
        message = {"tool_calls": [{"function": {"name": "get_weather", "arguments": arguments}}]}
        assert write("glm45", message).endswith("<arg_value>Paris</arg_value>\n</tool_call>")


def test_content_may_come_in_parts() -> None:
    assert (
        write("hermes", {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}) == "ab"
    )


def test_a_later_form_is_taken_where_the_first_is_read_as_something_else() -> None:
    assert write("llama3_json", {"tool_calls": [CALL]}).startswith('{"name"')
    assert write("llama3_json", {"content": "Hi.", "tool_calls": [CALL]}).startswith(
        'Hi.<|python_tag|>{"name"'
    )


def test_a_later_way_to_write_a_value_is_taken_where_the_first_is_read_as_something_else() -> None:
    """CDATA cannot hold its own end."""
    given = {"city": "a & ]]></param></function> b"}
    message = {"tool_calls": [{"function": {"name": "get_weather", "arguments": given}}]}
    text = write("minicpm5", message, tools=tool(city="string"))
    assert "a &amp; ]]&gt;&lt;/param&gt;&lt;/function&gt; b" in text
    read = unspool.parse(text, "minicpm5", tool(city="string"))
    assert json.loads(read.tool_calls[0].arguments) == given


@pytest.mark.parametrize(
    ("format", "given", "written"),
    [
        ("kimi_k2", "functions.get_weather:7", "functions.get_weather:7"),
        ("kimi_k2", "call_abc", "functions.get_weather:0"),
        ("kimi_k2", "functions.now:0", "functions.get_weather:0"),
        ("kimi_k2", None, "functions.get_weather:0"),
        ("solar_open", "call_abc", "call_abc"),
        ("solar_open", None, f"call_{'0' * 24}"),
        ("cohere_command3", "my id", '"my id"'),
    ],
)
def test_an_id_has_the_shape_of_the_formats_ids(format: str, given: str | None, written: str) -> None:
    text = write(format, {"tool_calls": [{**CALL, "id": given}]})
    assert written in text
    if given and given in written:
        assert unspool.parse(text, format).tool_calls[0].id == given


def test_an_id_that_is_read_as_another_is_refused() -> None:
    message = {"tool_calls": [{**CALL, "id": "a<|tool_call:name|>b"}]}
    assert "call 0 (" in refusal("solar_open", message)


@pytest.mark.parametrize("file", unspool.formats(), ids=lambda file: file.name)
def test_ids_that_a_format_writes_are_read(file: unspool.FormatFile) -> None:
    if not file.has_tools:
        return
    message = {"tool_calls": [{**CALL, "id": "abcde1234"}]}
    text = file.render(message, tools=tool(city="string"))
    assert (
        "abcde1234" not in text
        or unspool.parse(text, file, tool(city="string")).tool_calls[0].id == "abcde1234"
    )


def test_schemas_tell_numbers_from_text() -> None:
    message = {"tool_calls": [{"function": {"name": "get_weather", "arguments": {"days": 3}}}]}
    assert "'days' in the arguments: 3 parses as '3'" in refusal("qwen3_coder", message)
    assert "\n3\n" in write("qwen3_coder", message, tools=tool(days="integer"))


def test_a_line_break_that_becomes_content_is_refused_where_white_space_counts() -> None:
    message = {"content": "Hi.", "tool_calls": [CALL]}
    tools = tool(city="string")
    assert "the content 'Hi.': it parses as 'Hi.\\n'" in refusal("granite_pythonic", message, tools=tools)
    assert write("granite_pythonic", message, tools=tools, exact=False) == "Hi.\nget_weather(city='Paris')"
    message["content"] = "Hi.\n"
    assert write("granite_pythonic", message, tools=tools) == "Hi.\nget_weather(city='Paris')"


def test_a_marker_in_text_is_refused_as_text_and_kept_by_ids() -> None:
    content = "The end:\n</think>\n\nHi."
    message = {"content": content, "reasoning": "It </think> ends."}
    assert "cannot write the reasoning 'It </think> ends.'" in refusal("qwen3", message)
    text, ids = write_ids("qwen3", message)
    assert text == f"<think>\nIt </think> ends.\n</think>\n\n{content}"
    read = unspool.parse(ids, "qwen3", tokenizer=marker_tokenizer(unspool.get_format("qwen3")))
    assert (read.reasoning, read.content) == ("It </think> ends.", content)


def test_a_token_that_ends_the_answer_stays_text() -> None:
    text, ids = write_ids("hermes", {"content": f"It is {END}, and <|im_end|>."})
    assert text == f"It is {END}, and <|im_end|>."
    assert len(ids) == len(text), "a token a letter"


def test_markers_are_written_by_id() -> None:
    tokenizer = marker_tokenizer(unspool.get_format("gemma4"))
    _, ids = write_ids("gemma4", {"tool_calls": [CALL]})
    assert ids.count(tokenizer.token_to_id('<|"|>')) == 2
    assert ids[0] == tokenizer.token_to_id("<|tool_call>")


def test_an_encoder_that_adds_tokens_is_refused() -> None:
    file = unspool.get_format("hermes")
    tokenizer = marker_tokenizer(file)
    end = tokenizer.token_to_id(END)
    with pytest.raises(ArgumentError, match=r"encode makes a special token of 'Hi\.'"):
        file.render_ids({"content": "Hi."}, tokenizer, lambda text: [*tokenizer.encode(text).ids, end])


def test_an_encoder_that_changes_the_text_is_refused() -> None:
    file = unspool.get_format("hermes")
    tokenizer = marker_tokenizer(file)
    with pytest.raises(ArgumentError, match=r"the content 'Hi\.': it parses as 'hi\.'"):
        file.render_ids({"content": "Hi."}, tokenizer, lambda text: tokenizer.encode(text.lower()).ids)


@pytest.mark.parametrize(
    ("format", "message", "reason"),
    [
        ("hermes", {"reasoning": "Hm."}, "'hermes' has no reasoning"),
        ("kimi", {"tool_calls": [CALL]}, "'kimi' has no calls"),
        ("hermes", "Hi.", "of type str; pass a Message or a dict"),
        ("hermes", {"content": 5}, "the content is of type int"),
        ("hermes", {"content": [{"type": "image"}]}, "a part of the content is of type NoneType"),
        ("hermes", {"content": "\ud800"}, "the content cannot be encoded"),
        ("hermes", {"tool_calls": ["f"]}, "call 0 is of type str"),
        ("hermes", {"tool_calls": [{"function": {}}]}, "call 0 has no name"),
        ("hermes", {"tool_calls": [{"name": "f", "arguments": "{"}]}, "call 0 (f) are not valid JSON"),
        ("hermes", {"tool_calls": [{"name": "f", "arguments": {"a": float("nan")}}]}, "are not valid JSON"),
        ("hermes", {"tool_calls": [{"name": "f", "arguments": '{"a": NaN}'}]}, "are not valid JSON"),
        (
            "hermes",
            {"tool_calls": [{"name": "f", "arguments": {"a": {1: 2}}}]},
            "have a key that is not text",
        ),
        ("hermes", {"tool_calls": [{"name": "f", "arguments": "[1]"}]}, "are not an object"),
        ("hermes", {"tool_calls": [{"name": "f", "arguments": {"a": {1, 2}}}]}, "are not valid JSON"),
        ("hermes", {"tool_calls": [{"name": "", "arguments": {}}]}, "call 0 (): only 0 of 1 calls are read"),
    ],
)
def test_what_cannot_be_written_is_refused(format: str, message: Any, reason: str) -> None:
    assert reason in refusal(format, message)


def test_a_call_that_is_not_complete_is_refused() -> None:
    cut = unspool.parse('<tool_call>\n{"name": "f", "arguments": {"a', "hermes", finish_reason="length")
    assert "call 0 (f) is incomplete" in refusal("hermes", cut)


@pytest.mark.parametrize(
    "format", [file.name for file in unspool.formats() if file.has_tools and file.name != "cwm"]
)
def test_depth_is_bounded(format: str) -> None:
    """Values that are nested in 200 levels are written; deeper ones are refused."""
    value: Any = {}
    for _ in range(198):
        value = [value]
    message: Any = {"tool_calls": [{"name": "get_weather", "arguments": {"city": value}}]}
    text = write(format, message, tools=tool(city="array"))
    read = unspool.parse(text, format, tool(city="array"))
    assert json.loads(read.tool_calls[0].arguments) == {"city": value}
    message["tool_calls"][0]["arguments"] = {"city": [[[value]]]}
    assert "more than 200 levels" in refusal(format, message)


def test_true_is_no_number() -> None:
    """A schema that takes numbers only makes no boolean of `true`."""
    message = {"tool_calls": [{"function": {"name": "get_weather", "arguments": {"days": True}}}]}
    assert "True parses as 'true'" in refusal("qwen3_coder", message, tools=tool(days="integer"))
