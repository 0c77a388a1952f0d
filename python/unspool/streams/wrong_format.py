"""Notices an answer without calls that contains a call of another family."""

from __future__ import annotations

import functools
import re
from typing import Any

from unspool._core import StreamRecipe, ToolSchemas
from unspool._core import TokenStreamer as NativeTokenStreamer
from unspool.core.format.registry import revision
from unspool.core.stream.stream_recipe import make_recipe, recipe_options, with_defaults

__all__ = ["MAY_BEGIN", "find_format_of_calls"]

#: The family that most models imitate; the stream also reads the calls of all others.
_OWN = "hermes"
#: The characters that a call of any family can begin with.
MAY_BEGIN = re.compile(r"[^\s\w.,;:!?'\"-]")
_logged: set[tuple[str, str]] = set()


def find_format_of_calls(content: str, format: Any, tools: ToolSchemas) -> str | None:
    """Return the format that parses a call of an offered tool in `content`; None if there is none.

    The finding is logged once for each pair of formats.

    Args:
        content: The text that the stream of `format` left as content.
    """
    if not MAY_BEGIN.search(content):
        return None
    stream = NativeTokenStreamer(_recipe(revision()), tools=tools)
    stream.parse_chunk(content, None, "stop")
    calls = stream._message([], "reasoning_content").tool_calls
    reader = next((call.written_as or _OWN for call in calls if call.is_complete), None)
    own = getattr(format, "name", format)
    if reader is None or reader == own:
        return None
    if (own, reader) not in _logged:
        _logged.add((own, reader))
        import logging  # not before: importing unspool stays light

        logging.getLogger(__name__).warning(
            "format %r read no call, and %r would; pass also=%r", own, reader, reader
        )
    return reader


@functools.lru_cache(maxsize=1)
def _recipe(_: int) -> StreamRecipe:
    """Compile the recipe; a new `revision()` compiles it again, when a format has been registered."""
    return make_recipe(_OWN, recipe_options(with_defaults({"also": "any", "unknown_tools": "content"})))[0]
