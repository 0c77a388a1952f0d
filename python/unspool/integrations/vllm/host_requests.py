"""Converts the host's requests and chunks for unspool's parser."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from unspool._core import Delta, Format, Vocabulary
from unspool.formats.format_file import FormatFile, get_format
from unspool.integrations import host_options
from unspool.streams.parser import Parser

__all__ = ["ends_with_eos", "feed", "keep_special_tokens", "request_options", "vocabulary_of"]

logger = logging.getLogger("vllm.unspool")


def vocabulary_of(tokenizer: Any) -> Vocabulary | None:
    """Return the vocabulary of the host's tokenizer; None: markers are matched by their text."""
    return host_options.vocabulary_of(tokenizer, logger)


def request_options(request: Any, format: str | FormatFile | Format) -> dict[str, Any]:
    """Return the options of the request and of the environment, as arguments of `Parser`."""
    choice = getattr(request, "tool_choice", None)
    if not isinstance(choice, (str, type(None))):
        choice = choice.model_dump()
    tools = getattr(request, "tools", None)
    if choice != "none" and (not tools or _is_native(request, format)):
        choice = "auto"
    return {
        "tool_choice": choice,
        "parallel_tool_calls": getattr(request, "parallel_tool_calls", None) is not False,
        "white_space": host_options.white_space(),
    }


def _is_native(request: Any, format: str | FormatFile | Format) -> bool:
    """Whether a grammar forces calls in a form without markers that could also be the beginning of JSON."""
    outputs = getattr(request, "structured_outputs", None)
    if getattr(outputs, "structural_tag", None) is None:
        return False
    file = get_format(format) if isinstance(format, str) else format
    return isinstance(file, FormatFile) and any(call.bare for call in file.facts.calls)


def keep_special_tokens(request: Any) -> Any:
    """Keep special tokens in the text, because markers may be special tokens."""
    request.skip_special_tokens = False
    return request


def feed(parser: Parser, text: str, ids: Sequence[int], end: str | None = None) -> list[Delta]:
    if not text and not ids and end is None:
        return []
    return parser.parse_chunk(text, list(ids) or None, end)


def ends_with_eos(tokenizer: Any, ids: Sequence[int]) -> bool:
    return bool(ids) and ids[-1] == getattr(tokenizer, "eos_token_id", None)
