"""What a format's patterns say, as attributes: its markers, and what calls and reasoning begin and end with."""

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
        label: May follow an opener, and is markup as a whole.
        starts_open: Whether the output starts inside reasoning if the prompt is not known.
        tool_calls: What becomes of a call inside reasoning, as of `Parser(tool_calls_in_reasoning=)`.
    """

    openers: tuple[str, ...]
    closers: tuple[str, ...]
    label: str
    starts_open: bool
    tool_calls: Literal["auto", "keep", "end"]


@dataclass(frozen=True)
class HeaderFacts:
    """Markup with an end of its own. What is written in it may decide what follows it.

    Attributes:
        names_tool: Whether it is the name of the tool that is called.
        is_inline: Whether it stands within a text, which continues after it.
    """

    openers: tuple[str, ...]
    closers: tuple[str, ...]
    names_tool: bool
    is_inline: bool


@dataclass(frozen=True)
class CallFacts:
    """One form of a call.

    Attributes:
        bare: Where it may begin without an opener; "" if nowhere.
        first_letters: What such a call begins with, letter by letter; "" for anything.
        after_header: Whether a header announces it.
        may_be_content: Whether it is content unless it reads as a call.
        needs_known_tool: Whether it must name one of the request's tools.
        body: How its arguments are written.
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
    """What the parser understands of a format's patterns.

    Attributes:
        markers: Every text that opens or closes something.
        marker_tokens: What a tokenizer for this format would hold of the markers as one token each.
        ends: What ends an answer.
        reasoning: None if the format has none.
        dropped: Markup that stands alone.
        section_openers, section_closers: What stands around all calls.
        call_ids: The style of ids that the model's template wants.
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
        """What these patterns say.

        Raises:
            FormatError: They cannot be compiled.
        """
        facts = _core.format_facts(patterns)
        reasoning = facts["reasoning"]
        facts["reasoning"] = None if reasoning is None else ReasoningFacts(**reasoning)
        facts["headers"] = tuple(HeaderFacts(**header) for header in facts["headers"])
        facts["calls"] = tuple(CallFacts(**call) for call in facts["calls"])
        return cls(**facts)
