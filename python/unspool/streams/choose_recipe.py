"""Resolves the format of a stream and compiles its recipe."""

from __future__ import annotations

from typing import Any

from unspool._core import Format, FormatSource, StreamRecipe
from unspool.core.stream.stream_recipe import make_recipe
from unspool.formats.choose_format import choose_format, kept_reasoning

__all__ = ["choose_recipe"]


def choose_recipe(
    given: dict[str, Any],
) -> tuple[StreamRecipe, str | FormatSource | Format, str | bool | None]:
    """Compile what streams share; also return the chosen format and reasoning.

    Args:
        given: `format`, `tools`, and every option of a `Parser` by name; others are ignored.

    Raises:
        UnknownFormatError, ArgumentError, VocabularyError: As in `Parser`.
    """
    kept = kept_reasoning(given["format"], given["reasoning"])
    format, reasoning = choose_format(given["format"], given["tokenizer"], given["reasoning"])
    if format is not given["format"]:
        given = {**given, "format": format, "reasoning": reasoning}
    return make_recipe(given, kept), format, reasoning
