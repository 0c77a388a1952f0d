"""Turns a caller's options into the shared parts of streams."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from unspool._core import Format, FormatSource, StreamRecipe, Vocabulary
from unspool.core.format.compile_format import compile_format
from unspool.core.stream.stream_options import PARSER_OPTIONS, START_IN
from unspool.core.stream.tool_choice import read_tool_choice
from unspool.core.wrong_call import unknown_option
from unspool.errors import ArgumentError

if TYPE_CHECKING:
    from unspool.core.stream.parser_options import ParserOptions

__all__ = ["RECIPE_OPTIONS", "make_recipe", "recipe_options", "with_defaults"]

_DEFAULTS = {name: option.default for name, option in PARSER_OPTIONS.items()}

#: The options that streams share: all except those of a single request, and the tokenizer. `reasoning` is the first.
RECIPE_OPTIONS = tuple(
    name for name in PARSER_OPTIONS if name not in ("prompt", "tokenizer", "reasoning_field")
)

#: Picks the values of these options, as a tuple, from a dict of all options.
recipe_options = operator.itemgetter(*RECIPE_OPTIONS)


def with_defaults(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option of a `Parser` by name.

    Raises:
        UnknownOptionError: An option does not exist.
    """
    given = {**_DEFAULTS, **options}
    if len(given) > len(_DEFAULTS):
        raise unknown_option("unspool.Parser", min(options.keys() - PARSER_OPTIONS), PARSER_OPTIONS)
    return given


def make_recipe(
    format: str | FormatSource | Format,
    options: tuple[Any, ...],
    vocabulary: Vocabulary | None = None,
    *,
    has_tools: bool = True,
    kept: Format | None = None,
) -> tuple[StreamRecipe, str | None]:
    """Compile what streams share; also return the name of the tool that `tool_choice` asks for.

    Args:
        format: A format that does not depend on the tokenizer.
        options: The values of `RECIPE_OPTIONS`, in the same order.
        has_tools: True if there are tools, or it is unknown whether there are.
        kept: The format whose reasoning stays in the content, opening tag included.

    Raises:
        UnknownFormatError, ArgumentError: As in `Parser`.
    """
    by_name = dict(zip(RECIPE_OPTIONS, options, strict=True))
    values = cast("ParserOptions", by_name)
    if values["strict_markers"] and vocabulary is None:
        raise ArgumentError(
            "strict_markers knows markers by their token ids; pass tokenizer=, and feed token ids"
        )
    named, required, off = read_tool_choice(values["tool_choice"], None)
    start_in = values["start_in"]
    if start_in not in START_IN:
        raise ArgumentError(f"start_in is '{start_in}'; use 'auto', 'content' or 'reasoning'")
    compiled = compile_format(
        format,
        reasoning=values["reasoning"],
        tool_calls_in_reasoning=values["tool_calls_in_reasoning"],
        tools=not off and has_tools,
        tool_choice=named,
        required=required,
        unmarked_calls=values["unmarked_calls"],
        also=values["also"],
        vocabulary=vocabulary,
        trust=values["trust"],
        strict_markers=values["strict_markers"],
    )
    starts = None if start_in == "auto" else start_in == "reasoning"
    return StreamRecipe(compiled, by_name, vocabulary, starts, kept), named
