"""Learns a format for `detect`, once per template."""

from __future__ import annotations

import functools
from typing import Any

from unspool.errors import ArgumentError, LearnError
from unspool.formats.format_file import FormatFile

__all__ = ["learn_once"]


def learn_once(source: Any) -> FormatFile | None:
    """Learn the format of a tokenizer or a chat template; None if it cannot be learnt, or jinja2 is missing."""
    from unspool.formats.templates.source import read_source

    try:
        found = read_source(source)
    except ArgumentError:
        return None
    return _learn(found.template, tuple(sorted(found.tokens.items())))


@functools.lru_cache(maxsize=64)
def _learn(template: str, tokens: tuple[tuple[str, str], ...]) -> FormatFile | None:
    from unspool.formats.learning.learner import learn_template
    from unspool.formats.templates.source import TemplateSource

    try:
        return learn_template(TemplateSource(template, dict(tokens)), "learnt", timeout=10.0)
    except (LearnError, ImportError):
        return None
