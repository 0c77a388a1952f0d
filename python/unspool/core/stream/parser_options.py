"""The options of `Parser` as types, for functions that pass them on. Written by docs/make_options.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from unspool.core.format.other_families import Also

__all__ = ["ParserOptions", "SharedOptions"]


class SharedOptions(TypedDict, total=False):
    """The options of `Parser` by name, except `prompt` and `tokenizer`, which some functions take themselves."""

    reasoning: str | bool | None
    tool_choice: str | Mapping[str, Any] | None
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
    only_reasoning: bool
    max_calls: int
    max_argument_bytes: int
    max_depth: int
    max_held_bytes: int
    skip_special_tokens: bool
    white_space: Literal["keep", "trim"]
    stop: str | Sequence[str]
    include_stop: bool
    stop_in: Literal["content", "everywhere"]
    keep_message: bool
    audit: bool
    labels: bool
    rollback_window: int
    id_seed: int


class ParserOptions(SharedOptions, total=False):
    """The options of `Parser` by name."""

    prompt: str | Sequence[int] | None
    tokenizer: Any
