"""Resolves the format names that depend on the tokenizer."""

from __future__ import annotations

import weakref
from typing import Any

from unspool._core import Format
from unspool.core.format.compile_format import compile_format
from unspool.core.format.response_template import format_from_response_template
from unspool.errors import ArgumentError
from unspool.formats.format_file import FormatFile, get_format

__all__ = ["TEMPLATE_NAMES", "check_format_names", "choose_format", "kept_reasoning_file"]

#: The names that vLLM and SGLang use for the checkpoint's own response template.
TEMPLATE_NAMES = ("hf", "response_template")

#: Reasoning parsers of other stacks that leave the reasoning and its tags in the content, with the format of
#: the tags.
_KEPT_REASONING = {"minimax_m2_append_think": "minimax_m2", "minimax-append-think": "minimax_m2"}

_compiled: weakref.WeakKeyDictionary[Any, Format] = weakref.WeakKeyDictionary()

Reasoning = str | bool | None


def choose_format(
    format: str | FormatFile | Format, tokenizer: Any, reasoning: Reasoning = None
) -> tuple[str | FormatFile | Format, Reasoning]:
    """Resolve the format and the reasoning format.

    "auto" is the best match of `detect`. "hf" and "response_template" are the tokenizer's own response
    template. Any other format is returned unchanged.

    Raises:
        ArgumentError: The format cannot be detected from the tokenizer, or there is no tokenizer.
    """
    if not isinstance(format, str):
        return format, reasoning
    name = format.lower()
    if name not in ("auto", *TEMPLATE_NAMES):
        return format, reasoning
    if tokenizer is None:
        raise ArgumentError(f"format '{format}' asks the tokenizer; pass tokenizer=, or name a format")
    if name in TEMPLATE_NAMES:
        return _template_of(tokenizer), reasoning
    from unspool.formats.detection import detect

    detections = detect(tokenizer)
    if not detections:
        raise ArgumentError(
            "neither the chat template nor the tokenizer shows how this model writes; "
            "pass format=, one of unspool.formats()"
        )
    if detections[0].format == "response_template":
        return _template_of(tokenizer), reasoning
    files = [item.file or get_format(item.format) for item in detections]
    if reasoning is None and not files[0].has_reasoning:
        reasoning = next((file.name for file in files if not file.has_tools), None)
    return detections[0].file or files[0].name, reasoning


def check_format_names(format: Any, reasoning: Any = None) -> None:
    """Raise UnknownFormatError, with similar names, for a name that no format has."""
    is_asked_of_tokenizer = isinstance(format, str) and format.lower() in ("auto", *TEMPLATE_NAMES)
    for name in (None if is_asked_of_tokenizer else format, reasoning):
        if isinstance(name, str) and kept_reasoning_file(name) is None:
            get_format(name)


def kept_reasoning(*names: Any) -> Format | None:
    """Return the format whose reasoning stays in the content, opening tag included, if one of the names requests
    that; else None."""
    for name in names:
        file = kept_reasoning_file(name) if isinstance(name, str) else None
        if file is not None:
            return compile_format(file)
    return None


def kept_reasoning_file(name: str) -> FormatFile | None:
    """Return the format whose reasoning stays in the content under this name; None for other names."""
    kept = _KEPT_REASONING.get(name.lower())
    return None if kept is None else get_format(kept)


def _template_of(tokenizer: Any) -> Format:
    try:
        found = _compiled.get(tokenizer)
    except TypeError:  # not hashable, or not weakly referenceable
        return format_from_response_template(tokenizer)
    if found is None:
        found = _compiled[tokenizer] = format_from_response_template(tokenizer)
    return found
