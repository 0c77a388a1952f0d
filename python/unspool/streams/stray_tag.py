"""Warns if reasoning became content because the parser was not given the prompt that opens it."""

from __future__ import annotations

import warnings
from typing import Any

from unspool.errors import FormatError
from unspool.formats.format_file import FormatFile, get_format

__all__ = ["warn_of_stray_tag"]

_warned: set[str] = set()


def warn_of_stray_tag(content: str, format: Any, reasoning: Any) -> None:
    """Warn, once per format, if `content` has a closing reasoning tag that nothing opened.

    The tag counts only at the beginning or end of a line, where templates write it, so mentions in prose do not
    count.

    Args:
        format, reasoning: As in `Parser`. Without effect for a compiled format, whose tags are not known here.
    """
    file = _reasoning_file(format, reasoning)
    tags = file.facts.reasoning if file else None
    if file is None or tags is None or file.name in _warned:
        return
    markup = {*file.facts.dropped, *(text for header in file.facts.headers for text in header.openers)}
    for tag in tags.closers:
        before, closer, after = content.partition(tag)
        is_line = not before or before.endswith("\n") or not after or after.startswith("\n")
        if not closer or tag in markup or not is_line or any(text in before for text in tags.openers):
            continue
        _warned.add(file.name)
        warnings.warn(
            f"the content has {tag!r} and nothing opened it, so the prompt may have opened the reasoning; "
            "pass prompt=, or start_in='reasoning'",
            UserWarning,
            stacklevel=4,
        )
        return


def _reasoning_file(format: Any, reasoning: Any) -> FormatFile | None:
    named = reasoning if isinstance(reasoning, str) else format
    try:
        file = get_format(named) if isinstance(named, str) else named
    except FormatError:
        return None
    is_off = reasoning is False or not isinstance(file, FormatFile) or not file.has_reasoning
    return None if is_off else file
