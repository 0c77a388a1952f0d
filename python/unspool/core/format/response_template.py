"""Compiles the `response_template` that a checkpoint's tokenizer config may contain."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from unspool._core import Format, Vocabulary, _bind_template, _compile_template, _is_template
from unspool.core.fork_safety import ForkSafeLock
from unspool.errors import ArgumentError, FormatError

__all__ = ["bind_template", "format_from_response_template"]

_lock = ForkSafeLock()
_bound: weakref.WeakKeyDictionary[Vocabulary, dict[int, tuple[Format, Format]]] = weakref.WeakKeyDictionary()


def format_from_response_template(
    template_or_tokenizer: Any, *, vocabulary: Vocabulary | None = None
) -> Format:
    """Compile a Hugging Face response template, version 1.

    Args:
        template_or_tokenizer: The template as a dict, or a tokenizer (or processor) that has one.
        vocabulary: The vocabulary of the token ids. None: the parser's vocabulary.

    Raises:
        FormatError: The template is invalid or not supported; the message names the field.
        ArgumentError: The tokenizer has no response template.
    """
    import json  # not before: importing unspool stays light

    template = _find_template(template_or_tokenizer)
    try:
        text = json.dumps(template, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(f"the response template is not JSON: {error}") from None
    return _compile_template(text, "response_template", _tokens(vocabulary))


def bind_template(format: Format, vocabulary: Vocabulary | None) -> Format:
    """Bind a compiled template to a vocabulary; other formats are returned unchanged."""
    if vocabulary is None or not _is_template(format):
        return format
    with _lock:
        cache = _bound.setdefault(vocabulary, {})
        cached = cache.get(id(format))
    if cached is not None:
        return cached[1]
    bound = _bind_template(format, _tokens(vocabulary))
    with _lock:
        if len(cache) > 64:
            cache.clear()
        cache[id(format)] = (format, bound)  # holding the format keeps its id from being reused
    return bound


def _tokens(vocabulary: Vocabulary | None) -> list[tuple[int, str]]:
    return [] if vocabulary is None else list(Vocabulary.from_tokenizer(vocabulary).added_tokens.items())


def _find_template(source: Any) -> Mapping[str, Any]:
    if isinstance(source, Mapping):
        return source
    for holder in (source, getattr(source, "tokenizer", None)):
        template = getattr(holder, "response_template", None)
        if template is None:
            template = (getattr(holder, "init_kwargs", None) or {}).get("response_template")
        if isinstance(template, Mapping):
            return template
    raise ArgumentError(f"{type(source).__name__} has no response_template; pass the template as a dict")
