"""The table of stream options.

The core defines its own options and their defaults (csrc/stream/stream_options.cpp). This module adds the options
that Python resolves first. `python docs/make_options.py` writes signatures, docstrings, types and docs/options.md
from the table.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from unspool._core import _stream_options
from unspool.core.format.compile_format import Trust

__all__ = [
    "CORE_OPTIONS",
    "DELIVERY_OPTIONS",
    "PARSER_OPTIONS",
    "START_IN",
    "Option",
    "ReasoningField",
    "StartIn",
]

# Written by docs/make_options.py: choices.
CallsInFences = Literal["auto", "keep", "call"]
IncompleteCalls = Literal["forward", "withhold"]
StopIn = Literal["content", "everywhere"]
UnknownTools = Literal["forward", "content", "drop-with-report"]
WhiteSpace = Literal["keep", "trim"]
__all__ += ["CallsInFences", "IncompleteCalls", "StopIn", "UnknownTools", "WhiteSpace"]  # fmt: skip
# End.

StartIn = Literal["auto", "content", "reasoning"]
START_IN = get_args(StartIn)
ReasoningField = Literal["reasoning_content", "reasoning"]


class Option:
    """An option: its meaning, its default, its allowed words if it is a choice, and its type.

    The type is an annotation; "" stands for the words, or for the type of the default.
    """

    # Not a `NamedTuple`: creating one takes an eighth of the import time of unspool.
    __slots__ = ("default", "meaning", "name", "type", "words")

    def __init__(
        self, name: str, meaning: str, default: Any = None, words: tuple[str, ...] = (), type: str = ""
    ) -> None:
        self.name, self.meaning, self.default, self.words, self.type = name, meaning, default, words, type


def _table(*options: Option) -> dict[str, Option]:
    return {option.name: option for option in options}


#: Options that the core reads.
CORE_OPTIONS = _table(
    *(Option(name, meaning, default, words) for name, default, words, meaning in _stream_options())
)

#: Every option of `Parser`.
PARSER_OPTIONS = {
    **_table(
        Option(
            "reasoning",
            "The name of the format whose reasoning markup is used. None: this format itself. False or "
            '"none": reasoning tags are content.',
            type="str | bool | None",
        ),
        Option(
            "prompt",
            "The prompt, as text or (with `tokenizer`) as token ids. It decides whether the output "
            "starts inside reasoning. None of it is emitted.",
            type="str | Sequence[int] | None",
        ),
        Option(
            "tokenizer",
            "A tokenizer or `Vocabulary`; required for token ids. Markers that are tokens are then "
            "matched by id, and text that only spells one stays text.",
            type="Any",
        ),
        Option(
            "tool_choice",
            '"auto": the model decides. "none": calls are content. "required" or a tool\'s name (also '
            "as the API's dict): the output may also have the form of guided decoding, which is a bare "
            "list of calls or only the arguments.",
            default="auto",
            type="str | Mapping[str, Any] | None",
        ),
        Option(
            "tool_calls_in_reasoning",
            '"auto": hold back calls inside reasoning. They are text if the reasoning closes after them, '
            'and calls if the output ends. "keep": they are text. "end": a call ends the reasoning. None: '
            "the format decides.",
            words=("auto", "keep", "end"),
        ),
        Option(
            "unmarked_calls",
            "True: a call without its markers is also a call, in every form that the format's family "
            "writes: a bare or fenced JSON object, a list of Python calls, or the name and then the "
            'arguments (`get_weather{"city": "Paris"}`). It must begin a line, name one of `tools` and '
            "fit its schema. For models that omit the markers. Such a call is emitted when it is "
            "complete.",
            default=False,
        ),
        Option(
            "also",
            'Other formats whose calls count too, as a name or a list of names; "any": all formats. Such a call '
            "must name one of `tools` and fit its schema. It is emitted when it is complete, and "
            "`ToolCall.written_as` names its format.",
            default=(),
            type="Also",
        ),
        Option(
            "start_in",
            'The region in which the output starts: "content", "reasoning", or "auto" to derive it from '
            "the prompt and the format.",
            default="auto",
            words=START_IN,
        ),
        Option(
            "reasoning_field",
            "The field that holds reasoning in deltas and messages.",
            default="reasoning_content",
            words=get_args(ReasoningField),
        ),
        Option(
            "trust",
            'How markers that are tokens are matched when ids are given: by "id", by "text", or "either".',
            default="id",
            words=get_args(Trust),
        ),
        Option(
            "strict_markers",
            "True: a marker that is not a token of the vocabulary counts only inside what a token has "
            "opened; anywhere else it is text. A call without a marker is also text. Requires "
            "`tokenizer` and token ids.",
            default=False,
        ),
    ),
    **CORE_OPTIONS,
}

#: Further options of `TokenStreamer`: the destination of the deltas, and the meaning of the first `put`.
DELIVERY_OPTIONS = _table(
    Option(
        "channel",
        "The channel that receives the deltas; `end` closes it.",
        type="DeltaChannel | None",
    ),
    Option(
        "choice",
        "The index of this answer among the request's answers, from 0 (`Delta.choice`). With an "
        "`id_seed`, each answer has its own call ids, except in formats that number calls by the "
        "tool's name (\"functions.f:0\"), as the model's template requires.",
        default=0,
    ),
    Option(
        "closes_channel",
        "False: `end` leaves the channel open, so that several streamers, one for each choice, can "
        "share it. The caller closes it after the last one.",
        default=True,
    ),
    Option(
        "skip_prompt",
        "Whether the first `put` is the prompt. None: yes if it is a two-dimensional tensor; a list "
        "of ids is never a prompt.",
        type="bool | None",
    ),
)
