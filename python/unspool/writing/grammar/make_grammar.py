"""Builds a grammar from a format file and a request's tools, and prints it for an engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from unspool._core import FormatSource
from unspool.core.format.compile_format import compile_format
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.errors import ArgumentError, FormatError
from unspool.writing.engines.printers import PRINTERS
from unspool.writing.grammar.answer_rules import Answer, ReasoningStart
from unspool.writing.grammar.arguments import Arguments
from unspool.writing.grammar.call_rules import Calls
from unspool.writing.grammar.lexicon import Lexicon
from unspool.writing.grammar.marked_values import JSON, MarkedJson
from unspool.writing.grammar.readable_parts import check_parts
from unspool.writing.grammar.response import Response, text_node
from unspool.writing.grammar.tools import chosen_tools
from unspool.writing.grammar_result import Dropped, Grammar, Syntax, WhiteSpace, check_white_space
from unspool.writing.rules.nodes import EMPTY, Node, Rules
from unspool.writing.rules.rule_depth import check_depth
from unspool.writing.schemas.json_schema import normalise
from unspool.writing.schemas.schema_rules import value_rules

__all__ = ["make_grammar"]


def make_grammar(
    file: FormatSource,
    tools: Iterable[Any] = (),
    *,
    tool_choice: str = "auto",
    response: Response | None = None,
    parallel: bool = True,
    reasoning: bool | None = None,
    prompt: str | None = None,
    strict: bool | None = None,
    syntax: Syntax = "lark",
    tokenizer: Any = None,
    white_space: WhiteSpace = "bounded",
    any_order: bool = False,
    reasoning_start: ReasoningStart | None = None,
) -> Grammar:
    """See `FormatFile.grammar`.

    Args:
        reasoning_start: Where the answer begins; None: derived from `reasoning` and `prompt`.
    """
    if syntax not in PRINTERS:
        raise ArgumentError(f"syntax is '{syntax}'; use one of {', '.join(map(repr, PRINTERS))}")
    check_white_space(white_space)
    if tool_choice != "none" and isinstance(tools, (str, bytes, dict)):
        raise ArgumentError(f"tools is a {type(tools).__name__}; pass a list of tools")
    offered = [] if tool_choice == "none" else list(tools)
    has_calls = bool(offered) or response is None
    if has_calls and not file.has_tools:
        raise FormatError(f"format '{file.name}' has no calls, so there is no grammar of them")
    if reasoning is True and not file.has_reasoning:
        raise ArgumentError(f"format '{file.name}' has no reasoning; leave the argument out")
    rules, dropped = Rules({"start": EMPTY}, white_space, any_order), list[Dropped]()
    chosen = chosen_tools(offered, tool_choice, strict, syntax, dropped) if has_calls else []
    check_parts(file, chosen)
    must_call = has_calls and tool_choice != "auto"
    shape, words = file.shape, file.free_text_words
    vocabulary = None if tokenizer is None else from_tokenizer(tokenizer)
    lexicon = Lexicon(file, vocabulary, syntax != "gbnf")
    arguments = Arguments(shape, lexicon, rules, words.value, dropped)
    answer = Answer(
        shape,
        file.facts,
        lexicon,
        words,
        Calls(arguments, tuple(chosen), parallel, shape.header is not None),
        must_call=must_call,
        reasoning=reasoning_start or _reasoning_start(file, reasoning, prompt),
        written=shape.turn if prompt is None else (prompt,),
    )
    if response is not None and not must_call:
        held = [] if lexicon.are_tokens(words.content) else words.content
        if response.schema is None:
            content = text_node(response, rules, held, answer.start_of_content)
        else:
            content = _json(response.schema, syntax, held, rules, dropped)
        answer = replace(answer, response=content, is_exact=response.schema is None)
    rules.named["start"] = answer.node()
    check_depth(rules)
    return Grammar(syntax, PRINTERS[syntax](rules), tuple(dict.fromkeys(dropped)))


def _json(
    schema: Mapping[str, Any], syntax: Syntax, words: Sequence[str], rules: Rules, dropped: list[Dropped]
) -> Node:
    """A JSON value of the schema whose strings contain none of the words."""
    try:
        normalised = normalise(schema, syntax=syntax)
    except ArgumentError as error:
        raise ArgumentError(f"the response's schema: {error}") from None
    dropped += normalised.dropped
    reason = "a string beside markers may hold any text but these"
    marked = MarkedJson(tuple(words), "", lambda: dropped.append(Dropped("#", "pattern", reason)))
    return value_rules(rules, marked if words else JSON, normalised.schema, normalised.definitions)


def _reasoning_start(file: FormatSource, reasoning: bool | None, prompt: str | None) -> ReasoningStart:
    if reasoning is False or not file.has_reasoning:
        return "none"
    return "open" if compile_format(file).starts_in_reasoning(prompt or "") else "may"
