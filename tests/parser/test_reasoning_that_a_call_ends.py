"""Reasoning without a closer: only a call ends it."""

from __future__ import annotations

from typing import Any

import pytest
import unspool
from unspool import FormatFile
from unspool.testing import byte_splits

CALL = r'call = "\nAction: ${name}(${key}=${value}, ${...})\n\n${...}"'
TURN = r'turn = "<at>\n"'
END = 'end = "<end>"'
ONLY = 'reasoning = ["Thought: ${reasoning}", "Plan: ${reasoning}"]'
#: The same, but for a closer that models leave out.
CUT = 'reasoning = ["Thought: ${reasoning}</t>", "Thought: ${reasoning}"]'


def file_of(*lines: str) -> FormatFile:
    return FormatFile("\n".join(['name = "mine"', *lines]), "mine.toml")


def read(output: str, tools: list[str] | None = None) -> unspool.Message:
    """The message; the same at every split."""
    file, found = file_of(TURN, ONLY, CALL, END), []
    offered = None if tools is None else [{"name": name} for name in tools]
    for pieces in byte_splits(output.encode()):
        parser = unspool.Parser(file, offered, id_seed=1)
        for piece in pieces:
            parser.parse_chunk(piece)
        found.append(parser.finish())
    assert len({(one.reasoning, one.content, one.tool_calls, one.malformed) for one in found}) == 1
    return found[0]


@pytest.mark.parametrize(
    ("output", "reasoning", "content", "names"),
    [
        ("Thought: a\nAction: f(x=1)", "a", "", ["f"]),
        ("Plan: a\nb\n\nAction: f(x=1)\n\ng()\n\nh(y='z')", "a\nb\n", "", ["f", "g", "h"]),
        ("Thought: a\nAction: f()\nThought: b\nAction: g()", "ab", "", ["f", "g"]),
        ("Thought: a\nAction: none, I am done.", "a\nAction: none, I am done.", "", []),
        ("Thought: a\nAction: f(see below)", "a\nAction: f(see below)", "", []),
        ("Thought: a\nAction: f()\n\nDone (f) it.", "a", "\n\nDone (f) it.", ["f"]),
        ("Hello.\nThought: a\nAction: f()", "a", "Hello.\n", ["f"]),
        ("My Thought: it is \"Action:\".", "", 'My Thought: it is "Action:".', []),
        ("Thought: a Plan: b\nAction: f()", "a Plan: b", "", ["f"]),
        ("Thought: a", "a", "", []),
    ],
)  # fmt: skip
def test_a_call_ends_it(output: str, reasoning: str, content: str, names: list[str]) -> None:
    message = read(output)
    assert (message.reasoning, message.content) == (reasoning, content)
    assert [call.name for call in message.tool_calls if call.is_complete] == names
    assert not message.malformed


@pytest.mark.parametrize("reasoning", [ONLY, CUT])
@pytest.mark.parametrize("after", ["I did it.", "I 1", "\nAction: g()", "Action: g()", "g()"])
def test_a_prompt_may_have_written_any_part(reasoning: str, after: str) -> None:
    file = file_of(TURN, reasoning, CALL, END)
    output = f"Thought: a\nAction: f(x='1')\n\n{after}"
    end = len("Thought: a\nAction: f(x='1')")
    for place in range(end, len(output)):
        message = unspool.parse(output[place:], file, prompt="<at>\n" + output[:place], audit=True)
        assert message.audit is not None
        assert "".join(text for _, text in message.audit) == output[place:]


@pytest.mark.parametrize(
    ("options", "reasoning", "count"),
    [
        ({"tool_calls_in_reasoning": "auto"}, "a", 1),
        ({"tool_calls_in_reasoning": "end"}, "a", 1),
        ({"tool_calls_in_reasoning": "keep"}, "a\nAction: f()", 0),
        ({"tools": []}, "a\nAction: f()", 0),
    ],
    ids=str,
)
def test_a_request_may_say_otherwise(options: dict[str, Any], reasoning: str, count: int) -> None:
    message = unspool.parse("Thought: a\nAction: f()", file_of(TURN, ONLY, CALL, END), **options)
    assert (message.reasoning, message.content) == (reasoning, "")
    assert len(message.tool_calls) == count


@pytest.mark.parametrize(
    "lines",
    [
        ('reasoning = "${reasoning}"', CALL),
        ('reasoning = "<t>${reasoning}"', END),
        (
            'reasoning = "<m>think<b>${reasoning}"',
            'header = "<m>${_}<b>"',
            'call = "<m>f.${name}<b>${arguments}<e>"',
        ),
    ],
)
def test_something_must_end_it(lines: tuple[str, ...]) -> None:
    with pytest.raises(unspool.FormatError, match=r"reasoning: nothing ends the \$\{reasoning\}"):
        unspool.Parser(file_of(*lines))


def test_what_was_understood() -> None:
    sentences = file_of(TURN, ONLY, CALL, END).sentences
    assert sentences[0] == "Reasoning is between `Thought:` or `Plan:` and the next call."


def test_it_is_written_before_a_call() -> None:
    file = file_of(TURN, ONLY, CALL, END)
    call = {"name": "f", "arguments": {"x": 1}}
    assert file.render({"reasoning": "a", "tool_calls": [call]}) == "Thought: a\nAction: f(x=1)"
    with pytest.raises(unspool.ArgumentError, match="cannot write"):
        file.render({"reasoning": "a", "content": "b"})
