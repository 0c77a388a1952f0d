"""Turns a caller's options into the shared parts of streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool._core import Format, StreamRecipe
from unspool.core.format.compile_format import compile_format
from unspool.core.stream.stream_options import PARSER_OPTIONS, START_IN
from unspool.core.stream.tool_choice import read_tool_choice
from unspool.core.stream.tool_schemas import compile_tools
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.errors import ArgumentError

__all__ = ["make_recipe", "with_defaults"]


def with_defaults(format: Any, tools: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option of a `Parser` by name, and the format and the tools.

    Raises:
        TypeError: An option does not exist.
    """
    unknown = sorted(options.keys() - PARSER_OPTIONS)
    if unknown:
        raise TypeError(f"there is no option {', '.join(map(repr, unknown))}; see unspool.Parser")
    given = {name: option.default for name, option in PARSER_OPTIONS.items()}
    return {**given, **options, "format": format, "tools": tools}


def make_recipe(given: dict[str, Any], kept: Format | None = None) -> StreamRecipe:
    """Compile what streams share.

    Args:
        given: `format`, `tools`, and every option of a `Parser` by name; others are ignored. The format does
            not depend on the tokenizer.
        kept: The format whose reasoning stays in the content, opening tag included.

    Raises:
        UnknownFormatError, ArgumentError, VocabularyError: As in `Parser`.
    """
    tokenizer, start_in = given["tokenizer"], given["start_in"]
    vocabulary = None if tokenizer is None else from_tokenizer(tokenizer)
    if given["strict_markers"] and vocabulary is None:
        raise ArgumentError(
            "strict_markers knows markers by their token ids; pass tokenizer=, and feed token ids"
        )
    schemas = compile_tools(given["tools"])
    named, required, off = read_tool_choice(given["tool_choice"], schemas)
    if start_in not in START_IN:
        raise ArgumentError(f"start_in is '{start_in}'; use 'auto', 'content' or 'reasoning'")
    compiled = compile_format(
        given["format"],
        reasoning=given["reasoning"],
        tool_calls_in_reasoning=given["tool_calls_in_reasoning"],
        tools=not off and (schemas is None or len(schemas) > 0),
        tool_choice=named,
        required=required,
        unmarked_calls=given["unmarked_calls"],
        also=given["also"],
        vocabulary=vocabulary,
        trust=given["trust"],
        strict_markers=given["strict_markers"],
    )
    starts = None if start_in == "auto" else start_in == "reasoning"
    return StreamRecipe(compiled, given, schemas, vocabulary, given["prompt"], starts, kept)
