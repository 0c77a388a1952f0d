"""Messages with headers: where one header opens reasoning, content or a call, as its words say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from unspool.learn import holes
from unspool.learn.messages import Frames
from unspool.learn.texts import common_start, has_words, tag_start

__all__ = ["with_header"]

Keys = dict[str, tuple[str, ...]]
_END = re.compile(r"<[^<>]*>|\n")


def with_header(frames: Frames, keys: Keys) -> Iterator[Keys]:
    """The keys as they are, and with the header that contents and calls share."""
    yield keys
    call = keys["call"][0]
    before, name, after = call.partition(holes.NAME)
    opener = frames.content_open
    end = _END.match(after) or _END.search(after)
    if not name or not has_words(before) or end is None or not opener.endswith(end[0]):
        return
    start = opener[: tag_start(opener, len(common_start(opener, before)))].rstrip()
    if not start:
        return
    headed = {**keys, "header": (start + holes.ANY + end[0],)}
    yield headed
    rest = after[end.end() :]
    if holes.NAME in rest:  # the header names the tool, and the call does so again
        for closer in dict.fromkeys((frames.content_close, "")):
            calls = tuple(text.partition(end[0])[2].removesuffix(closer) for text in keys["call"])
            yield {**headed, "call": tuple(dict.fromkeys(calls))}
