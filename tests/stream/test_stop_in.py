"""Where a stop string counts: `stop_in="content"`, the default, or "everywhere"."""

from __future__ import annotations

import json
from typing import Any

import pytest
from unspool import ArgumentError, Parser, Vocabulary

MARKERS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>"]
IDS = {marker: 256 + i for i, marker in enumerate(MARKERS)}
BYTES = Vocabulary(
    {bytes([byte]): byte for byte in range(256)}, [(id, m, m, True) for m, id in IDS.items()], is_bytes=True
)
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": "one STOP two", "b": [1]}}\n</tool_call>'


def encode(text: str) -> list[int]:
    tokens: list[int] = []
    while text:
        marker = next((m for m in MARKERS if text.startswith(m)), None)
        tokens += [IDS[marker]] if marker else list(text[0].encode())
        text = text[len(marker or text[0]) :]
    return tokens


def run(output: str, by: str = "ids", **options: Any) -> Any:
    parser = Parser("qwen3", tokenizer=BYTES, start_in="content", id_seed=1, audit=True, **options)
    if by == "ids":
        for token in encode(output):
            parser.parse_chunk(None, [token])
    else:
        for letter in output:
            parser.parse_chunk(letter)
    return parser, parser.finish()


@pytest.mark.parametrize("by", ["ids", "text"])
def test_the_default_cuts_content_alone(by: str) -> None:
    output = f"<think>\na STOP b\n</think>\n\nHi {CALL}\nthen STOP never{CALL}"
    parser, message = run(output, by, stop="STOP")
    assert message.reasoning.strip() == "a STOP b"
    assert [c.arguments for c in message.tool_calls] == ['{"a": "one STOP two", "b": [1]}']
    assert message.content.replace("\n", "") == "Hi then "
    assert (parser.stop_reason, parser.is_stopped) == ("STOP", True)
    assert message.finish_reason == "tool_calls"
    assert "".join(text for _, text in message.audit) == output[: output.index("STOP never")]


@pytest.mark.parametrize("stop", ["STOP", '"b"', "}", "\n", ": ", "name"])
def test_arguments_are_never_cut_unless_asked(stop: str) -> None:
    whole = [c.arguments for c in run(CALL)[1].tool_calls]
    parser, message = run(CALL, stop=stop)
    assert [(c.arguments, c.status) for c in message.tool_calls] == [(whole[0], "complete")]
    assert not parser.is_stopped


@pytest.mark.parametrize(
    ("stop", "arguments"),
    [("STOP", '{"a": "one '), (', "b"', '{"a": "one STOP two"'), ("]", '{"a": "one STOP two", "b": [')],
)
@pytest.mark.parametrize("repair", [False, True])
def test_everywhere_cuts_a_call_and_says_so(stop: str, arguments: str, repair: bool) -> None:
    """The call is incomplete, however little it lacks; `repair` closes it, and lists that."""
    parser, message = run("Hi" + CALL, stop=stop, stop_in="everywhere", repair=repair)
    (call,) = message.tool_calls
    assert (message.finish_reason, parser.stop_reason) == ("stop", stop)
    assert call.arguments.startswith(arguments)
    if repair:
        assert (call.status, call.repairs) == ("complete", ("closed",))
        assert isinstance(json.loads(call.arguments), dict)
    else:
        assert call.status == "incomplete"
        assert call.arguments in (arguments, arguments + "1")
        assert message.to_openai().get("tool_calls") is None
    _, message = run("<think>\na STOP b\n</think>\n\nHi", stop="STOP", stop_in="everywhere")
    assert (message.reasoning.strip(), message.content) == ("a", "")


def test_a_stop_string_does_not_match_markup_or_across_it() -> None:
    for stop in ("</think>", "\n\nHi", "a\n", "<tool_call>"):
        parser, message = run(f"<think>\na\n</think>\n\nHi{CALL}", stop=stop)
        assert (message.content, parser.is_stopped, len(message.tool_calls)) == ("Hi", False, 1), stop


def test_what_is_held_is_the_beginning_of_a_stop_string() -> None:
    parser = Parser("qwen3", tokenizer=BYTES, start_in="content", stop=["abcd", "bx"])
    shown = []
    for letter in "zabcabxy":
        shown.append("".join(delta.text for delta in parser.parse_chunk(None, [ord(letter)])))
    assert shown == ["z", "", "", "", "abc", "", "a", ""][: len(shown)]
    assert parser.stop_reason == "bx"
    assert parser.finish().content == "zabca"


@pytest.mark.parametrize("include", [True, False])
def test_every_split_gives_one_answer(include: bool) -> None:
    output = f"<think>\nSTOP\n</think>\n\nSTO{CALL}\nSTOSTOPP {CALL}"
    expected = None
    for size in (1, 2, 3, 7, 1000):
        for by in ("text", "ids"):
            parser = Parser(
                "qwen3", tokenizer=BYTES, start_in="content", id_seed=1, stop="STOP", include_stop=include
            )
            data: Any = output if by == "text" else encode(output)
            for at in range(0, len(data), size):
                piece = data[at : at + size]
                parser.parse_chunk(piece) if by == "text" else parser.parse_chunk(None, piece)
            message = parser.finish()
            said = (message.reasoning, message.content, message.tool_calls, message.finish_reason)
            assert expected in (None, said), (size, by)
            expected = said


def test_a_chunk_that_ends_in_a_call_after_the_stop_string_gives_the_same_reason() -> None:
    output = f"{CALL}\na STOP b{CALL}"
    for place in range(len(output) + 1):
        parser = Parser("hermes", stop="STOP")
        parser.parse_chunk(output[:place])
        parser.parse_chunk(output[place:])
        message = parser.finish()
        assert (message.finish_reason, len(message.tool_calls)) == ("tool_calls", 1), place


def test_bad_choices_raise() -> None:
    with pytest.raises(ArgumentError, match="stop_in is 'calls'; use 'content' or 'everywhere'"):
        Parser("qwen3", stop_in="calls")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="empty"):
        Parser("qwen3", stop="")
