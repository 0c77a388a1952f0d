"""Reasoning first and calls after it, by two parsers with text between them, is one parse."""

from __future__ import annotations

import random

import pytest
import unspool
from unspool.testing import Case, pieces_of, shipped_cases

# The prompt has opened the header that the tool's name ends; the second parser cannot know.
_NEEDS_THE_PROMPT = {"inkling: the tool's name is in the header that the prompt opens"}
# Without the calls, a closer behind one stands amid text.
_NEEDS_THE_CALLS = {"mimo: reasoning that is closed before the call: another closer belongs to nothing"}
CASES = [
    case
    for case in shipped_cases()
    if unspool.get_format(case.format).has_reasoning and set(case.options) <= {"prompt"}
]


def in_two_steps(case: Case, pieces: list[bytes]) -> tuple[str, str, list[tuple[str, str, str]]]:
    tools = None if case.tools is None else list(case.tools)
    first = unspool.Parser(case.format, only_reasoning=True, prompt=case.options.get("prompt"))
    second = unspool.Parser(case.format, tools, reasoning=False)
    for piece in pieces:
        for delta in first.parse_chunk(piece):
            if delta.kind == "content":
                second.parse_chunk(delta.text)
    thought = first.finish(case.finish_reason)
    for delta in thought.deltas:
        if delta.kind == "content":
            second.parse_chunk(delta.text)
    message = second.finish(case.finish_reason)
    calls = [(call.name, call.arguments, call.status) for call in message.tool_calls]
    return message.content, thought.reasoning, calls


@pytest.mark.parametrize("format", sorted({case.format for case in CASES}))
def test_two_steps_give_what_one_gives(format: str) -> None:
    rng = random.Random(format)
    for case in CASES:
        if case.format != format or str(case) in _NEEDS_THE_PROMPT | _NEEDS_THE_CALLS:
            continue
        data = case.input.encode()
        some = pieces_of(data, [rng.randrange(len(data) + 1) for _ in range(4)])
        for pieces in ([data], pieces_of(data, range(1, len(data))), some):
            assert in_two_steps(case, pieces) == (case.content, case.reasoning, list(case.calls)), case


def test_everything_but_the_reasoning_and_its_tags_goes_on_byte_for_byte() -> None:
    rest = 'I look.\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call> <|im_end|> and on'
    message = unspool.parse(f"<think>\nHm.\n</think>\n\n{rest}", "qwen3", only_reasoning=True)
    assert (message.reasoning, message.content, message.tool_calls) == ("Hm.", rest, ())


def test_a_tag_inside_a_call_is_part_of_the_call() -> None:
    call = '<tool_call>\n{"name": "note", "arguments": {"text": "<think>x</think>"}}\n</tool_call>'
    message = unspool.parse(call, "qwen3", only_reasoning=True)
    assert (message.reasoning, message.content) == ("", call)


def test_a_header_is_passed_on_whole_or_not_at_all() -> None:
    text = (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>analysis<|message|>So.<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.now<|message|>{}<|call|>"
    )
    for pieces in ([text], list(text)):
        parser = unspool.Parser("openai", only_reasoning=True)
        for piece in pieces:
            parser.parse_chunk(piece)
        message = parser.finish()
        assert message.reasoning == "Hm.So."
        assert (
            message.content == "<|start|>assistant<|channel|>commentary to=functions.now<|message|>{}<|call|>"
        )


def test_the_audit_says_what_it_says_without() -> None:
    text = "<think>\nHm.\n</think>\n\n<tool_call>\n{}\n</tool_call>"
    split = unspool.parse(text, "qwen3", only_reasoning=True, audit=True)
    assert split.audit == unspool.parse(text, "qwen3", audit=True).audit


@pytest.mark.parametrize("format", sorted({case.format for case in shipped_cases()}))
def test_the_audit_is_the_output(format: str) -> None:
    """Found by fuzzing: the marker that the prompt had opened the turn with was audited again."""
    for case in shipped_cases():
        if case.format == format:
            options = {**case.options, "only_reasoning": True, "audit": True}
            message = unspool.parse(case.input, format, case.tools, **options)
            assert "".join(text for _, text in message.audit) == case.input, case


def test_a_reasoning_tag_that_closes_nothing_is_dropped_where_the_format_drops_it() -> None:
    for text, content in (
        ("[/THINK]Hi", "Hi"),
        ("[THINK]a[/THINK][/THINK]Hi", "Hi"),
        ("Hi[/THINK]", "Hi[/THINK]"),
    ):
        assert unspool.parse(text, "mistral", only_reasoning=True).content == content
    header = "<|channel|>final<|message|>Hi<|end|>"  # here it is a message's end, and no tag of reasoning
    assert unspool.parse(header, "openai", only_reasoning=True).content == header


def test_markup_before_reasoning_goes_with_it() -> None:
    """An author's mark is no answer: a host that asks for the first content would end the reasoning there."""
    author = "<|message_model|>"
    text = f"{author}<|content_thinking|>Hm.<|end_message|>{author}<|content_text|>Hi<|end_message|>"
    parser = unspool.Parser("inkling", only_reasoning=True)
    deltas = [delta for piece in text for delta in parser.parse_chunk(piece)]
    kinds = [delta.kind for delta in deltas]
    assert kinds == sorted(kinds, reverse=True), "all reasoning comes before content"
    message = parser.finish()
    assert (message.reasoning, message.content) == ("Hm.", text[text.rindex(author) :])


def test_a_call_is_reported_before_its_text_is() -> None:
    parser = unspool.Parser("qwen3", only_reasoning=True)
    assert parser.parse_chunk("<think>a</think><tool_call>")[-1].kind == "reasoning"
    assert parser.region == "tool_call"
    assert parser.finish().content == "<tool_call>"
