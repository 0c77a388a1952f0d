"""What becomes of calls to unknown tools, of more than one call, and of calls inside reasoning."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
import unspool
from unspool.testing import byte_splits
from unspool.testing.cases import Case, shipped_cases

from ..outputs import render

TOOLS: list[dict[str, Any]] = [{"name": "known", "parameters": {"properties": {"a": {"type": "string"}}}}]
FORMATS = [file for file in unspool.formats() if file.has_tools]
HERMES = (
    'One.\n<tool_call>\n{"name": "known", "arguments": {"a": "x"}}\n</tool_call>\nTwo.\n<tool_call>\n'
    '{"name": "other", "arguments": {"a": "</tool_call>"}}\n</tool_call>\nThree.'
)


def parse_every_way(text: str, format: Any, **options: Any) -> unspool.Message:
    """The message; the same however the text is cut."""
    messages = []
    for pieces in byte_splits(text.encode()):
        parser = unspool.Parser(format, TOOLS, id_seed=1, **options)
        for piece in pieces:
            parser.parse_chunk(piece)
        messages.append(parser.finish())
    first = messages[0]
    for other in messages:
        assert (other.content, other.tool_calls, other.dropped, other.malformed) == (
            first.content, first.tool_calls, first.dropped, first.malformed,
        )  # fmt: skip
    return first


def names(message: unspool.Message) -> list[str]:
    return [call.name for call in message.tool_calls]


def test_unknown_tools_are_forwarded_by_default() -> None:
    message = parse_every_way(HERMES, "hermes")
    assert names(message) == ["known", "other"]
    assert message.content == "One.Two.\nThree." or message.content.startswith("One.")


def test_unknown_tools_as_content() -> None:
    message = parse_every_way(HERMES, "hermes", unknown_tools="content")
    assert names(message) == ["known"]
    assert '{"name": "other", "arguments": {"a": "</tool_call>"}}\n</tool_call>' in message.content
    assert message.content.endswith("Three.")
    assert not message.dropped
    assert not message.malformed


def test_unknown_tools_dropped_with_a_report() -> None:
    message = parse_every_way(HERMES, "hermes", unknown_tools="drop-with-report")
    assert names(message) == ["known"]
    assert "other" not in message.content
    (report,) = message.dropped
    assert '{"name": "other", "arguments": {"a": "</tool_call>"}}' in report.text
    assert report.reason == "the tool is not one of the request's"
    assert message.finish_reason == "tool_calls"


def test_only_the_first_call_where_parallel_calls_are_off() -> None:
    message = parse_every_way(HERMES, "hermes", parallel_tool_calls=False)
    assert names(message) == ["known"]
    assert "other" in message.dropped[0].text
    assert message.dropped[0].reason == "the request wants one call at most"


@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_policies_hold_in_every_format(file: unspool.FormatFile) -> None:
    made: list[tuple[str, dict[str, Any]]] = [("known", {"a": "x"}), ("other", {"a": "y"}), ("known", {})]
    if any(call.needs_known_tool for call in file.facts.calls):
        made.pop(1)  # there an unknown name is no call at all
    text = render(file, "", "", made, form=-1)  # the last kind of call has an opener, where one has
    kept = [(name, arguments) for name, arguments in made if name == "known"]
    for policy in ("content", "drop-with-report"):
        message = unspool.parse(text, file, TOOLS, unknown_tools=policy)
        assert [(c.name, json.loads(c.arguments)) for c in message.tool_calls] == kept, policy
        assert ("other" in message.content) == (policy == "content" and len(made) == 3)
        assert len(message.dropped) == (policy != "content" and len(made) == 3)
    message = unspool.parse(text, file, TOOLS, parallel_tool_calls=False)
    assert names(message) == ["known"]
    assert message.dropped


def tools_of(case: Case) -> list[dict[str, Any]]:
    """The tools of a case, or one for each name that it calls."""
    return [*(case.tools or [{"name": name} for name, *_ in case.calls])]


def without_ids(calls: Iterable[unspool.ToolCall]) -> list[tuple[str, str, str]]:
    return [(call.name, call.arguments, call.status) for call in calls]


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_a_policy_changes_nothing_but_what_becomes_of_calls(file: unspool.FormatFile) -> None:
    """The rest of the message is the same, and the calls are those that the policy lets pass."""
    for case in shipped_cases(file.name):
        read = unspool.parse(case.input, file, tools_of(case))
        first = unspool.parse(case.input, file, tools_of(case), parallel_tool_calls=False)
        assert without_ids(first.tool_calls) == without_ids(read.tool_calls[:1]), case
        assert (first.content, first.reasoning) == (read.content, read.reasoning), case
        limited = unspool.parse(case.input, file, tools_of(case), max_calls=1)
        assert without_ids(limited.tool_calls) == without_ids(read.tool_calls[:1]), case
        assert limited.reasoning == read.reasoning, case
        for tools in (tools_of(case)[:1], tools_of(case)[1:], [{"name": "none of these"}]):
            offered = {tool.get("function", tool)["name"] for tool in tools}
            read = unspool.parse(case.input, file, tools)
            sent = without_ids(call for call in read.tool_calls if call.name in offered)
            dropped = unspool.parse(case.input, file, tools, unknown_tools="drop-with-report")
            assert without_ids(dropped.tool_calls) == sent, case
            assert (dropped.content, dropped.reasoning) == (read.content, read.reasoning), case
            assert bool(dropped.dropped) == (len(sent) < len(read.tool_calls)), case
            shown = unspool.parse(case.input, file, tools, unknown_tools="content")
            assert without_ids(shown.tool_calls) == sent, case
            assert shown.reasoning == read.reasoning, case


def test_the_text_of_a_call_without_arguments_has_its_closer() -> None:
    text = "<tool_call>other</tool_call>"
    assert unspool.parse(text, "glm47", TOOLS, unknown_tools="content").content == text
    report = unspool.parse(text, "glm47", TOOLS, unknown_tools="drop-with-report").dropped[0]
    assert report.text == text


def test_a_call_that_is_rehearsed_stays_reasoning_whatever_becomes_of_calls() -> None:
    text = '<think>\nI could call <tool_call>{"name": "other"}</tool_call>.\n</think>\n\nNo.'
    for policy in ("content", "drop-with-report"):
        message = unspool.parse(text, "qwen3", TOOLS, unknown_tools=policy)
        assert message.reasoning == 'I could call <tool_call>{"name": "other"}</tool_call>.'
        assert (message.content, message.dropped) == ("No.", ())


def test_a_rehearsal_that_is_cut_off_takes_no_answer_with_it() -> None:
    begun = "One <seed:tool_call><function=known></function></seed:tool_call>, and <seed:tool_call><function=known>"
    reasoning = begun + "<parameter=a>x"
    message = parse_every_way(f"<seed:think>{reasoning}</seed:think>Two </seed:think> four.", "seed_oss")
    assert (message.reasoning, message.tool_calls) == (reasoning, ())
    assert message.content == "Two </seed:think> four."


@pytest.mark.parametrize("closers", ["</parameter></function></seed:tool_call>", "</parameter></function>"])
def test_a_call_in_the_reasoning_may_quote_its_closer(closers: str) -> None:
    call = "<seed:tool_call><function=known><parameter=a>print('</seed:think>')" + closers
    message = parse_every_way(f"<seed:think>I call.{call}", "seed_oss")
    assert (message.reasoning, message.content) == ("I call.", "")
    assert [call.args for call in message.tool_calls] == [{"a": "print('</seed:think>')"}]


TEMPLATE = {
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "content": {"close_pattern": "<end>"},
        "tool_calls": {
            "open": "<call>",
            "close": "</call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
    },
}


@pytest.mark.parametrize(
    "options", [{"unknown_tools": "drop-with-report"}, {"parallel_tool_calls": False}], ids=str
)
def test_policies_hold_in_a_response_template(options: dict[str, Any]) -> None:
    other = '<call>{"name": "other", "arguments": {"b": [1]}}</call>'
    text = f'A<call>{{"name": "known", "arguments": {{"a": "x"}}}}</call>B{other}C'
    format = unspool.Format.from_response_template(TEMPLATE)
    message = parse_every_way(text, format, audit=True, **options)
    assert names(message) == ["known"]
    assert message.content == "ABC"
    assert [report.text for report in message.dropped] == [other]
    assert message.audit[-3:] == (("content", "B"), ("malformed", other), ("content", "C"))


@pytest.mark.parametrize("name", ["qwen3", "kimi_k2", "glm45", "deepseek_v31"])
def test_a_call_inside_reasoning_as_the_caller_wants(name: str) -> None:
    file = unspool.get_format(name)
    inner = render(file, "", "", [("known", {"a": "x"})])
    text = f"<think>\nI will call {inner}"
    kept = unspool.parse(text, name, TOOLS, tool_calls_in_reasoning="keep")
    assert not kept.tool_calls
    assert "known" in kept.reasoning
    ended = unspool.parse(text, name, TOOLS, tool_calls_in_reasoning="end")
    assert names(ended) == ["known"]
    assert ended.reasoning.strip() == "I will call"


@pytest.mark.parametrize(
    "options", [{"unknown_tools": "maybe"}, {"tool_calls_in_reasoning": "drop"}], ids=str
)
def test_bad_options_raise(options: dict[str, Any]) -> None:
    with pytest.raises(unspool.ArgumentError, match=next(iter(options))):
        unspool.Parser("qwen3", **options)
