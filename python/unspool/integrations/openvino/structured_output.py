"""Converts a grammar to OpenVINO GenAI's structured output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from openvino_genai import StructuredOutputConfig

from unspool._core import Format
from unspool.core.stream.tool_choice import grammar_choice
from unspool.errors import ArgumentError
from unspool.formats.format_file import FormatFile, get_format
from unspool.writing.grammar import Grammar
from unspool.writing.grammar.response import response_grammar
from unspool.writing.grammar.response_format import read_response_format

__all__ = ["structured_output"]


def structured_output(
    grammar: str | Mapping[str, Any] | Grammar | None = None,
    *,
    tools: Iterable[Any] | None = None,
    format: str | FormatFile | Format | None = None,
    tool_choice: str | Mapping[str, Any] = "required",
    parallel_tool_calls: bool = True,
    reasoning: bool | None = None,
    prompt: str | None = None,
    response_format: Mapping[str, Any] | None = None,
) -> StructuredOutputConfig:
    """Build the `structured_output_config` that constrains an answer to a grammar.

    Under a grammar, a model may spell markers such as `<tool_call>` in ordinary tokens instead of the single
    token. `pipeline` and `ContinuousBatching` therefore parse such an answer with `trust="either"`; pass that
    to a `DeltaStreamer` yourself.

    Pass a grammar, or tools with their format, or a response format.

    Args:
        grammar: EBNF of xgrammar (`root ::= ...`), or its structural tag as a dict, with or without the outer
            `{"type": "structural_tag", "format": ...}`. Or a `Grammar` with the syntax "gbnf".
        tools: The request's tools; calls to them use the model's own syntax.
        format: The model's format, such as `pipeline(...).model.format`.
        tool_choice: "auto", "required", or the tool that must be called, by name or in the API's form.
        parallel_tool_calls: Whether several calls are allowed.
        reasoning, prompt: As for `FormatFile.grammar`. GenAI applies a grammar from the answer's first token.
        response_format: `{"type": "json_object"}`, or `{"type": "json_schema", "json_schema": {"schema":
            ...}}`.

    Raises:
        ArgumentError: None of them is given, or more than one; or the tools or the schema cannot be
            expressed.
    """
    if [grammar, tools, response_format].count(None) != 2:
        raise ArgumentError("pass one of grammar, tools and response_format")
    if response_format is not None:
        response = read_response_format(response_format)
        if response is None:
            raise ArgumentError("a response_format of text needs no grammar; leave it out")
        grammar = response_grammar(response, "gbnf")
    elif tools is not None:
        file = get_format(format) if isinstance(format, str) else format
        if not isinstance(file, FormatFile):
            raise ArgumentError("tools need the model's format: pass format=, a name or a FormatFile")
        grammar = file.grammar(
            tools, tool_choice=grammar_choice(tool_choice), parallel=parallel_tool_calls, reasoning=reasoning,
            prompt=prompt, syntax="gbnf",
        )  # fmt: skip
    if isinstance(grammar, Grammar):
        if grammar.syntax != "gbnf":
            raise ArgumentError(f"the grammar's syntax is {grammar.syntax!r}; GenAI reads 'gbnf'")
        grammar = grammar.text
    return _config_of(grammar)


def _config_of(grammar: Any) -> StructuredOutputConfig:
    if isinstance(grammar, Mapping):
        tag = dict(grammar)
        if tag.get("type") != "structural_tag":
            tag = {"type": "structural_tag", "format": tag}
        try:
            return StructuredOutputConfig(structural_tags_config=json.dumps(tag))
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"the structural tag is not valid JSON: {error}") from None
    if not isinstance(grammar, str) or "::=" not in grammar:
        raise ArgumentError(
            f"grammar is {str(grammar)[:40]!r}; pass EBNF with a rule 'root ::= ...', or a structural tag as a dict"
        )
    return StructuredOutputConfig(grammar=grammar)
