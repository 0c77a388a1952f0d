"""Finds message headers, whose words decide whether reasoning, content or a call follows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from unspool.formats.learning import holes
from unspool.formats.learning.messages import Frames
from unspool.formats.templates.tagged_texts import common_start, has_words, tag_start

__all__ = ["with_header"]

Keys = dict[str, tuple[str, ...]]
_END = re.compile(r"<[^<>]*>|\n")


_WORD = re.compile(r"\s+\w+\W$")


def with_header(frames: Frames, keys: Keys) -> Iterator[Keys]:
    """Yield the keys with the header that contents and calls share, if there is one."""
    call = keys["call"][0]
    before, name, after = call.partition(holes.NAME)
    opener = frames.content_open
    end = _END.match(after) or _END.search(after)
    if not name or not has_words(before) or end is None or not opener.endswith(end[0]):
        return
    start = opener[: tag_start(opener, len(common_start(opener, before)))].rstrip()
    for begin in dict.fromkeys((_WORD.sub("", start), start)):
        if begin:
            yield from _headed(frames, {**keys, "header": (begin + holes.ANY + end[0],)}, end[0])


def _headed(frames: Frames, keys: Keys, end: str) -> Iterator[Keys]:
    yield keys
    if not all(text.count(holes.NAME) > 1 for text in keys["call"]):
        return
    for closer in dict.fromkeys(
        (frames.content_close, "")
    ):  # the header names the tool, and the call repeats it
        calls = (text.partition(end)[2].removesuffix(closer) for text in keys["call"])
        yield {**keys, "call": tuple(dict.fromkeys(calls))}
