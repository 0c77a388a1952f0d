"""Checks a tokenizer before its model is served."""

from __future__ import annotations

import logging
from typing import Any

from unspool.core.format.compile_format import compile_format
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.errors import ArgumentError
from unspool.formats.choose_format import choose_format
from unspool.serve.models.template_checks import can_render

__all__ = ["check_reading"]

_log = logging.getLogger("unspool.serve")


def check_reading(
    tokenizer: Any, format: str, reasoning: str | bool | None, strict_markers: bool = False
) -> None:
    """Raise if the format is not found, or its markers are not tokens in strict mode; warn without a chat template."""
    if not can_render(tokenizer):
        _log.warning(
            "the model has no chat template: chat requests get 400; --chat-template FILE adds a template"
        )
        if format.lower() == "auto":
            return  # no format: all text is content
    try:
        file, reasoning_format = choose_format(format, tokenizer, reasoning)
    except ArgumentError as error:
        if format.lower() != "auto":
            raise
        raise ArgumentError(
            "the chat template does not show how this model writes; name its format with --format "
            "(`unspool formats` lists all), or 'none' for plain text"
        ) from error
    if strict_markers:
        vocabulary = from_tokenizer(tokenizer)
        compile_format(file, reasoning=reasoning_format, vocabulary=vocabulary, strict_markers=True)
