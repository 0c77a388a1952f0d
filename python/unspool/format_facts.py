"""Properties of a format's patterns: its markers, and how calls and reasoning begin and end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from unspool import _core

__all__ = ["CallFacts", "FormatFacts", "HeaderFacts", "ReasoningFacts"]


@dataclass(frozen=True)
class ReasoningFacts:
    """How reasoning is written.

    Attributes:
        label: Optional markup after an opener.
        starts_open: Whether the output starts inside reasoning if the prompt is unknown.
        tool_calls: Handling of a call inside reasoning, as for `Parser(tool_calls_in_reasoning=)`.
    """

    openers: tuple[str, ...]
    closers: tuple[str, ...]
    label: str
    starts_open: bool
    tool_calls: Literal["auto", "keep", "end"]


@dataclass(frozen=True)
class HeaderFacts:
    """Markup with its own end; its content may decide what follows.

    Attributes:
        names_tool: Whether it holds the name of the called tool.
        is_inline: Whether it occurs within a text, which continues after it.
    """

    openers: tuple[str, ...]
    closers: tuple[str, ...]
    names_tool: bool
    is_inline: bool


@dataclass(frozen=True)
class CallFacts:
    """One form of a call.

    Attributes:
        bare: Where the call may begin without an opener; "" if nowhere.
        first_letters: The letters that such a call can begin with; "" for any.
        after_header: Whether a header announces the call.
        may_be_content: Whether the text is content unless it parses as a call.
        needs_known_tool: Whether the call must name one of the request's tools.
        body: The notation of the arguments.
    """

    openers: tuple[str, ...]
    closers: tuple[str, ...]
    bare: Literal["", "start", "line", "section"]
    first_letters: str
    after_header: bool
    may_be_content: bool
    needs_known_tool: bool
    body: Literal[
        "json_call", "json_arguments", "literal_arguments", "pythonic", "xml_parameters", "xml_elements"
    ]


@dataclass(frozen=True)
class FormatFacts:
    """Properties of a format's compiled patterns.

    Attributes:
        markers: Every text that opens or closes something.
        marker_tokens: The markers that a tokenizer for this format would have as single tokens.
        ends: The markers that end an answer.
        reasoning: None if the format has no reasoning.
        dropped: Markup that has no meaning of its own and is dropped.
        section_openers, section_closers: The markers around all calls.
        call_ids: The style of call ids that the model's template requires.
    """

    markers: tuple[str, ...]
    marker_tokens: tuple[str, ...]
    ends: tuple[str, ...]
    reasoning: ReasoningFacts | None
    headers: tuple[HeaderFacts, ...]
    dropped: tuple[str, ...]
    section_openers: tuple[str, ...]
    section_closers: tuple[str, ...]
    calls: tuple[CallFacts, ...]
    call_ids: Literal["random", "nine", "functions"]

    @classmethod
    def read(cls, patterns: Mapping[str, Any]) -> FormatFacts:
        """Compile the patterns and return their properties.

        Raises:
            FormatError: The patterns cannot be compiled.
        """
        facts = _core.format_facts(patterns)
        reasoning = facts["reasoning"]
        facts["reasoning"] = None if reasoning is None else ReasoningFacts(**reasoning)
        facts["headers"] = tuple(HeaderFacts(**header) for header in facts["headers"])
        facts["calls"] = tuple(CallFacts(**call) for call in facts["calls"])
        return cls(**facts)
