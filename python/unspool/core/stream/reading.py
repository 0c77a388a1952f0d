"""Parses a whole output with a compiled format, for callers that know no format names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from unspool._core import Format, TokenStreamer, ToolSchemas, Vocabulary
from unspool.core.stream.message import Message, build_message
from unspool.core.stream.stream_recipe import make_recipe, with_defaults

__all__ = ["read_chunks"]


def read_chunks(
    format: Format,
    chunks: Iterable[str | Sequence[int]],
    tools: Iterable[Any] | ToolSchemas | None = None,
    *,
    prompt: str | None = None,
    vocabulary: Vocabulary | None = None,
) -> Message:
    """Parse the chunks of one output, each text or token ids, as a `Parser` does."""
    given = with_defaults(format, tools, {"prompt": prompt, "tokenizer": vocabulary})
    streamer = TokenStreamer(make_recipe(given), given["reasoning_field"])
    for chunk in chunks:
        streamer.parse_chunk(*((chunk, None) if isinstance(chunk, str) else (None, chunk)))
    streamer.parse_chunk(None, None, "stop")
    return build_message(streamer, [])
