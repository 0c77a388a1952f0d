"""The grammar that a request asks for: by its choice among the tools, by strict tools, by its response format."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unspool._core import Format, FormatSource, ToolSchemas, Vocabulary
from unspool.core.format.registry import find_source
from unspool.core.stream.tool import read_tools
from unspool.core.stream.tool_choice import grammar_choice
from unspool.errors import ArgumentError, FormatError
from unspool.writing.grammar.answer import ReasoningStart
from unspool.writing.grammar.make_grammar import make_grammar
from unspool.writing.grammar.response import Response, response_grammar
from unspool.writing.grammar.response_format import read_response_format
from unspool.writing.grammar.result import Grammar, Syntax
from unspool.writing.grammar.tools import is_strict

__all__ = ["check_beside_grammar", "choice_beside", "format_of", "request_grammar"]


def request_grammar(
    format: str | FormatSource | Format,
    reasoning: str | bool | None,
    tools: Sequence[Any] | ToolSchemas | None,
    *,
    tool_choice: str | Mapping[str, Any] | None,
    response_format: Any,
    parallel: bool,
    read_prompt_end: Callable[[], str | None],
    start_in: str,
    vocabulary: Vocabulary | None,
    own: str | Grammar | None = None,
    choice: Sequence[str] | None = None,
    regex: str | None = None,
    syntax: Syntax | None = "lark",
) -> str | Grammar | None:
    """What the answer is kept to; None: it is free.

    A tool that must be called, and one whose function says `strict`, make a grammar of the calls; a response
    format makes one of the content.

    Args:
        format, reasoning: As of `Parser`, "auto" resolved.
        read_prompt_end: Returns the end of the prompt as text, or None if it is not known; the format's own turn
            counts then. Called only if a grammar is made.
        start_in: As of `Parser`.
        own: The caller's grammar, which replaces all that.
        choice, regex: As of `read_response_format`.
        syntax: Of the grammar; None: what runs the model has none.

    Raises:
        ArgumentError: The request cannot be enforced with this format, or holds a schema that no grammar is made of.
    """
    response = read_response_format(response_format, choice, regex)
    if own is not None and response is not None:
        said = response.name if response_format is None else "response_format"
        raise ArgumentError(f"{said} and grammar are both given; pass one of them")
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
    """Raise ArgumentError for what cannot be together with a grammar."""
    if has_prefill:
        raise ArgumentError(
            "prefill begins the answer, and a grammar (also of tool_choice, strict, response_format, choice or regex) writes "
            "all of it; leave one out"
        )
    if ignores_eos:
        raise ArgumentError("ignore_eos goes on where the grammar ends; leave one out")


def choice_beside(grammar: str | Grammar | None, tool_choice: Any, tools: Any) -> Any:
    """The tool choice of the parser of an answer that `request_grammar` keeps to something."""
    if grammar is None:
        return tool_choice
    # Calls come in the model's own syntax, and without tools no text is a call.
    return "none" if tool_choice == "none" or not tools else "auto"


#: Where the answer begins by the option `start_in`; None: as the prompt shows.
_STARTS: dict[str, ReasoningStart | None] = {"auto": None, "content": "may", "reasoning": "open"}


def _without_file(
    format: Format, response: Response | None, must_call: bool, prompt: str | None, syntax: Syntax
) -> Grammar | None:
    """A compiled format shows no patterns: there is a grammar of content, and none of reasoning and calls."""
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
    """The format with the reasoning that is read."""
    # A file that is the same object is compiled once.
    return (_named_file if isinstance(format, str) else _file)(format, reasoning)


def _file(format: str | FormatSource, reasoning: str | bool | None) -> FormatSource:
    file = find_source(format) if isinstance(format, str) else format
    if reasoning is None or reasoning is True:
        return file
    return file.with_reasoning(find_source(reasoning) if reasoning else None)


_named_file = functools.lru_cache(maxsize=256)(_file)
