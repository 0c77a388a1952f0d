"""The options of a stream in one table.

The core has those that it reads itself, with their defaults (csrc/stream/stream_options.cpp); those that Python
resolves first are here. Signatures, docstrings and docs/options.md are checked against the table.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

from unspool._core import _stream_options

__all__ = [
    "CORE_OPTIONS", "DELIVERY_OPTIONS", "PARSER_OPTIONS", "START_IN", "IncompleteCalls", "Option", "ReasoningField",
    "StartIn", "StopIn", "ToolCallsInReasoning", "Trust", "UnknownTools",
    "WhiteSpace",
]  # fmt: skip

IncompleteCalls = Literal["forward", "withhold"]
ReasoningField = Literal["reasoning_content", "reasoning"]
StartIn = Literal["auto", "content", "reasoning"]
StopIn = Literal["content", "everywhere"]
ToolCallsInReasoning = Literal["auto", "keep", "end"]
Trust = Literal["id", "text", "either"]
UnknownTools = Literal["forward", "content", "drop-with-report"]
WhiteSpace = Literal["keep", "trim"]
START_IN = get_args(StartIn)


class Option(NamedTuple):
    """One option: its default, its choices if it is one of several words, and what it does."""

    name: str
    default: Any
    words: tuple[str, ...]
    meaning: str


def _table(*options: Option) -> dict[str, Option]:
    return {option.name: option for option in options}


#: Options that the core reads itself.
CORE_OPTIONS = _table(*(Option(*row) for row in _stream_options()))

#: Every option of `Parser`.
PARSER_OPTIONS = {
    **_table(
        Option(
            "reasoning",
            None,
            (),
            "The name of the format whose reasoning is meant; None: the format's own; False or "
            '"none": reasoning tags are content.',
        ),
        Option(
            "prompt",
            None,
            (),
            "What the model was given, as text or (with `tokenizer`) token ids. It shows whether the output "
            "starts inside reasoning. Not emitted.",
        ),
        Option(
            "tokenizer",
            None,
            (),
            "A tokenizer or `Vocabulary`, for token ids; markers that are tokens are then known by id, and "
            "text that merely spells one is text.",
        ),
        Option(
            "tool_choice",
            "auto",
            (),
            '"auto"; "none": calls are content; "required", or a tool\'s name (also as the API\'s dict): the '
            "output may also be what guided decoding writes, the list of calls or the arguments alone.",
        ),
        Option(
            "tool_calls_in_reasoning",
            None,
            get_args(ToolCallsInReasoning),
            '"auto": a call inside reasoning waits. It is text if the reasoning closes after it, and a call if '
            'the output ends or another call follows. "keep": it is text. "end": it ends the reasoning and '
            "counts. None: as the format says.",
        ),
        Option(
            "unmarked_calls",
            False,
            (),
            "True: a bare or fenced JSON object on a line of its own is a call too, if it names one of `tools` and "
            "fits its schema. For models that do not write the markers they were asked for. Such a call is sent "
            "when it is complete.",
        ),
        Option(
            "start_in",
            "auto",
            START_IN,
            '"auto": as the prompt and the format say; or "content" or "reasoning".',
        ),
        Option(
            "reasoning_field",
            "reasoning_content",
            get_args(ReasoningField),
            "The name of reasoning on the wire.",
        ),
        Option(
            "trust",
            "id",
            get_args(Trust),
            'How markers that are tokens are known if ids come: "id", "text" or "either".',
        ),
    ),
    **CORE_OPTIONS,
}

#: What `TokenStreamer` takes besides: where deltas go, and what comes first.
DELIVERY_OPTIONS = _table(
    Option("channel", None, (), "Where deltas go; the channel is closed by `end`."),
    Option(
        "choice",
        0,
        (),
        "Which of the request's answers this is, from 0 (`Delta.choice`), if it has several. With an "
        "`id_seed`, each has other call ids; those of formats that number calls by the tool's name "
        '("functions.f:0") are as the model\'s template demands, whatever the choice.',
    ),
    Option(
        "closes_channel",
        True,
        (),
        "False: `end` leaves the channel open, so that several streamers, one for each choice, share it. "
        "Whoever made it closes it after the last of them.",
    ),
    Option(
        "skip_prompt",
        None,
        (),
        "Whether the first `put` is the prompt. None: if it is a tensor of two dimensions; a list of ids "
        "never is.",
    ),
)
