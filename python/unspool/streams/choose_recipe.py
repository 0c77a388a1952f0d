"""Resolves the format of a stream, and compiles what streams with the same arguments share."""

from __future__ import annotations

import weakref
from typing import Any

from unspool._core import Format, StreamRecipe, ToolSchemas, Vocabulary
from unspool.core.format.registry import revision
from unspool.core.recent import Recent
from unspool.core.stream.stream_recipe import RECIPE_OPTIONS, make_recipe
from unspool.core.stream.tool_choice import check_offered
from unspool.formats.choose_format import choose_format, kept_reasoning
from unspool.formats.format_file import FormatFile

__all__ = ["Recipe", "choose_recipe"]

_SIZE = 16  # number of recipes cached for each vocabulary
_text_recipes = Recent(_SIZE)
_id_recipes: weakref.WeakKeyDictionary[Vocabulary, Recent] = weakref.WeakKeyDictionary()
_OPTION = {name: place for place, name in enumerate(RECIPE_OPTIONS)}


class Recipe:
    """What streams with the same arguments share.

    Attributes:
        tool: The name of the tool that must be called.
        tag_formats: The format and the `reasoning` whose tags `warn_of_stray_tag` looks for; None: no check.
        offers: The format that should parse calls of the tools; None: calls are not parsed.
    """

    __slots__ = ("native", "offers", "tag_formats", "tool")

    def __init__(
        self,
        native: StreamRecipe,
        tool: str | None,
        format: str | FormatFile | Format,
        options: tuple[Any, ...],
    ) -> None:
        self.native, self.tool = native, tool
        reads_calls = not options[_OPTION["only_reasoning"]]
        may_warn = reads_calls and options[_OPTION["start_in"]] == "auto"
        self.tag_formats = (format, options[_OPTION["reasoning"]]) if may_warn else None
        self.offers = format if reads_calls and options[_OPTION["tool_choice"]] != "none" else None


def choose_recipe(
    format: str | FormatFile | Format, tools: ToolSchemas | None, tokenizer: Any, options: tuple[Any, ...]
) -> Recipe:
    """Compile what streams share. Recent recipes are cached: the same arguments return the same one.

    Args:
        options: The values of `RECIPE_OPTIONS`, in the same order.

    Raises:
        UnknownFormatError, ArgumentError, VocabularyError: As in `Parser`.
    """
    is_compiled = tokenizer is None or isinstance(tokenizer, Vocabulary)
    vocabulary: Vocabulary | None = tokenizer if is_compiled else Vocabulary.from_tokenizer(tokenizer)
    recipes = _text_recipes if vocabulary is None else _recipes_of(vocabulary)
    has_tools = tools is None or len(tools) > 0
    key = (format, options, has_tools, revision())
    recipe: Recipe | None = recipes.find(key)
    if recipe is None:
        chosen, reasoning = choose_format(format, tokenizer, options[0])
        if chosen is not format:  # not cached: the tokenizer may lead to another format next time
            return choose_recipe(chosen, tools, tokenizer, (reasoning, *options[1:]))

        def make(format: Any, options: tuple[Any, ...], has_tools: bool, _: int) -> Recipe:
            kept = kept_reasoning(format, options[0])
            parts = make_recipe(format, options, vocabulary, has_tools=has_tools, kept=kept)
            return Recipe(*parts, format, options)

        recipe = recipes.make(key, make)
    check_offered(recipe.tool, tools)
    return recipe


def _recipes_of(vocabulary: Vocabulary) -> Recent:
    found = _id_recipes.get(vocabulary)
    return _id_recipes.setdefault(vocabulary, Recent(_SIZE)) if found is None else found
