"""Parses a whole output with a compiled format, for modules that must not depend on format names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from unspool._core import Format, TokenStreamer, ToolSchemas, Vocabulary
from unspool.core.stream.message import Message, build_message
from unspool.core.stream.stream_recipe import make_recipe, recipe_options, with_defaults
from unspool.core.stream.tool_schemas import compile_tools

__all__ = ["read_chunks"]


def read_chunks(
    format: Format,
    chunks: Iterable[str | Sequence[int]],
    tools: Iterable[Any] | ToolSchemas | None = None,
    *,
    prompt: str | None = None,
    vocabulary: Vocabulary | None = None,
) -> Message:
    """Parse the chunks of one output as a `Parser` does; each chunk is text or token ids."""
    schemas = compile_tools(tools)
    has_tools = schemas is None or len(schemas) > 0
    recipe, _ = make_recipe(format, recipe_options(with_defaults({})), vocabulary, has_tools=has_tools)
    streamer = TokenStreamer(recipe, tools=schemas, prompt=prompt)
    for chunk in chunks:
        streamer.parse_chunk(*((chunk, None) if isinstance(chunk, str) else (None, chunk)))
    streamer.parse_chunk(None, None, "stop")
    return build_message(streamer, [])
