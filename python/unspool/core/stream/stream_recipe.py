"""Turns a caller's options into the shared parts of streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool._core import Format, StreamRecipe, ToolSchemas
from unspool.choose_format import choose_format, kept_reasoning
from unspool.errors import ArgumentError
from unspool.format_files import FormatFile
from unspool.formats import compile_format
from unspool.schema import compile_tools
from unspool.stream_options import PARSER_OPTIONS, START_IN
from unspool.vocabulary_sources import from_tokenizer

__all__ = ["grammar_choice", "make_recipe", "read_tool_choice", "with_defaults"]


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


def make_recipe(
    given: dict[str, Any],
) -> tuple[StreamRecipe, str | FormatFile | Format, str | bool | None]:
    """Compile what streams share; also return the chosen format and reasoning.

    Args:
        given: `format`, `tools`, and every option of a `Parser` by name; others are ignored.

    Raises:
        UnknownFormatError, ArgumentError, VocabularyError: As in `Parser`.
    """
    tokenizer, start_in = given["tokenizer"], given["start_in"]
    kept = kept_reasoning(given["format"], given["reasoning"])
    format, reasoning = choose_format(given["format"], tokenizer, given["reasoning"])
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
        format,
        reasoning=reasoning,
        tool_calls_in_reasoning=given["tool_calls_in_reasoning"],
        tools=not off and (schemas is None or len(schemas) > 0),
        tool_choice=named,
        required=required,
        unmarked_calls=given["unmarked_calls"],
        vocabulary=vocabulary,
        trust=given["trust"],
        strict_markers=given["strict_markers"],
    )
    starts = None if start_in == "auto" else start_in == "reasoning"
    native = StreamRecipe(compiled, given, schemas, vocabulary, given["prompt"], starts, kept)
    return native, format, reasoning


def read_tool_choice(
    choice: str | Mapping[str, Any] | None, schemas: ToolSchemas | None
) -> tuple[str | None, bool, bool]:
    """Return the named tool, whether some tool is required, and whether tools are off.

    Raises:
        ArgumentError: The choice is neither one of the words nor the name of a tool.
    """
    if choice is None or choice == "auto":
        return None, False, False
    if choice == "none":
        return None, False, True
    if choice in ("required", "any"):
        return None, True, False
    if isinstance(choice, Mapping):
        name = (choice.get("function") or choice).get("name")
        if not isinstance(name, str):
            raise ArgumentError("tool_choice names no tool; write {'function': {'name': ...}}")
        choice = name
    if schemas is not None and choice not in schemas:
        raise ArgumentError(
            f"tool_choice is '{choice}'; use 'auto', 'none', 'required' or the name of one of the tools"
        )
    return choice, False, False


def grammar_choice(choice: str | Mapping[str, Any] | None) -> str:
    """Convert a request's `tool_choice` for `FormatFile.grammar`: a word or a tool's name.

    Raises:
        ArgumentError: As in `read_tool_choice`.
    """
    named, is_required, is_off = read_tool_choice(choice, None)
    return named or ("none" if is_off else "required" if is_required else "auto")
