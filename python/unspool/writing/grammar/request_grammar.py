"""The grammar that a request implies by its `tool_choice`, its strict tools or its response format."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unspool._core import Format, FormatSource, ToolSchemas, Vocabulary
from unspool.core.format.registry import find_source
from unspool.core.stream.tool import read_tools
from unspool.core.stream.tool_choice import grammar_choice
from unspool.errors import ArgumentError, FormatError
from unspool.writing.grammar.answer_rules import ReasoningStart
from unspool.writing.grammar.make_grammar import make_grammar
from unspool.writing.grammar.response import Response, response_grammar
from unspool.writing.grammar.tools import is_strict
from unspool.writing.grammar_result import Grammar, Syntax

__all__ = ["check_beside_grammar", "choice_beside", "format_of", "request_grammar"]


def request_grammar(
    format: str | FormatSource | Format,
    reasoning: str | bool | None,
    tools: Sequence[Any] | ToolSchemas | None,
    *,
    tool_choice: str | Mapping[str, Any] | None,
    response: Response | None,
    parallel: bool,
    read_prompt_end: Callable[[], str | None],
    start_in: str,
    vocabulary: Vocabulary | None,
    own: str | Grammar | None = None,
    syntax: Syntax | None = "lark",
) -> str | Grammar | None:
    """Return the grammar that constrains the answer; None: the answer is free.

    The calls are constrained if a tool must be called or if a tool is `strict`. The content is constrained if there is
    a `response`.

    Args:
        format, reasoning: See `Parser`; "auto" must be resolved.
        read_prompt_end: Returns the end of the prompt as text, or None if it is not known; the format's own turn is
            used then. Called only if a grammar is made.
        start_in: See `Parser`.
        own: The caller's grammar, which replaces the grammar of the request.
        syntax: The syntax of the grammar. None: the engine that runs the model has no grammars.

    Raises:
        ArgumentError: The request cannot be enforced with this format, or has a schema for which no grammar can be
            made.
    """
    if own is not None:
        return own
    chosen = grammar_choice(tool_choice)
    has_tools = chosen != "none" and tools is not None and len(tools) > 0
    must_call = has_tools and chosen != "auto"
    listed = [] if tools is None or isinstance(tools, ToolSchemas) else read_tools(tools)
    is_bound = must_call or any(map(is_strict, listed))
    if response is None and not (has_tools and is_bound):
        return None
    if must_call and isinstance(tools, ToolSchemas):
        raise ArgumentError("a required call needs the tools' schemas; pass tools as a list")
    if syntax is None:
        raise ArgumentError(
            "what runs this model has no grammars, so it cannot be kept to a required call, a strict tool or a response "
            "format; leave it out"
        )
    end = read_prompt_end()
    if isinstance(format, Format):
        return _without_file(format, response, must_call, end, syntax)
    file = format_of(format, reasoning)
    if must_call and not file.has_tools:
        raise ArgumentError(
            f"tool_choice asks for a call, and format '{file.name}' has none; name another format"
        )
    offered = listed if has_tools and file.has_tools else []
    if not offered and response is None:
        return None
    try:
        return make_grammar(
            file,
            offered,
            tool_choice=chosen,
            response=response,
            parallel=parallel,
            prompt=end,
            syntax=syntax,
            tokenizer=vocabulary,
            reasoning_start=_STARTS.get(start_in) if file.has_reasoning else "none",
        )
    except FormatError as error:
        raise ArgumentError(str(error)) from error


def check_beside_grammar(has_prefill: bool, ignores_eos: bool) -> None:
    """Raise ArgumentError for options that cannot be combined with a grammar."""
    if has_prefill:
        raise ArgumentError(
            "prefill begins the answer, and a grammar (also of tool_choice, strict, response_format, choice or regex) writes "
            "all of it; leave one out"
        )
    if ignores_eos:
        raise ArgumentError("ignore_eos goes on where the grammar ends; leave one out")


def choice_beside(grammar: str | Grammar | None, tool_choice: Any, tools: Any) -> Any:
    """Return the parser's `tool_choice` for an answer that may be constrained by `request_grammar`."""
    if grammar is None:
        return tool_choice
    # The grammar makes the model write calls in its own syntax, never as a bare list; without tools, no text is a call.
    return "none" if tool_choice == "none" or not tools else "auto"


#: The beginning of the answer for each value of the option `start_in`; None: derived from the prompt.
_STARTS: dict[str, ReasoningStart | None] = {"auto": None, "content": "may", "reasoning": "open"}


def _without_file(
    format: Format, response: Response | None, must_call: bool, prompt: str | None, syntax: Syntax
) -> Grammar | None:
    """Return the grammar for a compiled format. Its patterns are unknown, so only content can be constrained."""
    if must_call:
        raise ArgumentError(
            f"tool_choice asks for a call, and '{format.name}' is no format file, so there is no grammar of its "
            "calls; name a format"
        )
    if response is None:
        return None
    if format.starts_in_reasoning(prompt or ""):
        raise ArgumentError(
            f"the prompt opens reasoning, and '{format.name}' is no format file, so there is no grammar of it; "
            "switch reasoning off, or name a format"
        )
    return response_grammar(response, syntax)


def format_of(format: str | FormatSource, reasoning: str | bool | None) -> FormatSource:
    """Return a format's source with the reasoning of the option `reasoning`."""
    # Named formats are cached, so that the same source object is compiled only once.
    return (_named_file if isinstance(format, str) else _file)(format, reasoning)


def _file(format: str | FormatSource, reasoning: str | bool | None) -> FormatSource:
    file = find_source(format) if isinstance(format, str) else format
    if reasoning is None or reasoning is True:
        return file
    return file.with_reasoning(find_source(reasoning) if reasoning else None)


_named_file = functools.lru_cache(maxsize=256)(_file)
