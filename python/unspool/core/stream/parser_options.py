"""The options of `Parser` as types, for functions that pass them on. Written by docs/make_options.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from unspool.core.format.other_families import Also

__all__ = ["PARSING_OPTIONS", "AnswerOptions", "ParserOptions", "ParsingOptions", "SharedOptions"]


class ParsingOptions(TypedDict, total=False):
    """The options that a model or a request may set; a missing one has its default."""

    tool_calls_in_reasoning: Literal["auto", "keep", "end"] | None
    unmarked_calls: bool
    also: Also
    start_in: Literal["auto", "content", "reasoning"]
    reasoning_field: Literal["reasoning_content", "reasoning"]
    trust: Literal["id", "text", "either"]
    strict_markers: bool
    unknown_tools: Literal["forward", "content", "drop-with-report"]
    calls_in_fences: Literal["auto", "keep", "call"]
    parallel_tool_calls: bool
    incomplete_calls: Literal["forward", "withhold"]
    repair: bool
    max_calls: int
    max_argument_bytes: int
    max_depth: int
    max_held_bytes: int
    skip_special_tokens: bool
    white_space: Literal["keep", "trim"]
    include_stop: bool
    stop_in: Literal["content", "everywhere"]
    audit: bool
    labels: bool
    rollback_window: int
    id_seed: int


class SharedOptions(ParsingOptions, total=False):
    """With those that come from other parts of a request."""

    reasoning: str | bool | None
    tool_choice: str | Mapping[str, Any] | None
    stop: str | Sequence[str]
    keep_message: bool
    only_reasoning: bool


class ParserOptions(SharedOptions, total=False):
    """All options of `Parser`."""

    prompt: str | Sequence[int] | None
    tokenizer: Any


class AnswerOptions(ParsingOptions, total=False):
    """The options of an answer's stream: also those that come from other parts of its request."""

    reasoning: str | bool | None
    tool_choice: str | Mapping[str, Any] | None
    stop: str | Sequence[str]
    prompt: str | Sequence[int] | None


#: The names of `ParsingOptions`.
PARSING_OPTIONS = frozenset(ParsingOptions.__annotations__)
