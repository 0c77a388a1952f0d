"""Proposes the places of reasoning and content in an answer, the most natural interpretation first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from unspool.formats.learning import holes
from unspool.formats.templates.probe import CALLS, CONTENT, REASONING
from unspool.formats.templates.rendered import Rendered
from unspool.formats.templates.tagged_texts import (
    TAG,
    boundaries,
    common_end,
    common_start,
    has_words,
    tag_start,
)

__all__ = ["Frames", "Messages", "propose_messages"]


@dataclass(frozen=True)
class Messages:
    """The renderings with reasoning and content; None: the template rejected the message.

    Attributes:
        content: Only content.
        both: Reasoning, then content.
        thought_call: Reasoning, then a call.
        content_call: Content, then a call.
        turn: The text that the generation prompt adds.
        hidden: Tags that the template removes from a content, with the text before them.
    """

    content: Rendered | None
    both: Rendered | None
    thought_call: Rendered | None
    content_call: Rendered | None
    turn: str
    hidden: tuple[str, ...] = ()

    @property
    def around_content(self) -> tuple[str, str, str] | None:
        """The prompt's end, and the texts before and after the content; None if the content is not written."""
        if self.content is None or CONTENT not in self.content.text:
            return None
        before, _, after = self.content.text.partition(CONTENT)
        return self.content.lead, before, after

    @property
    def repeats_turn(self) -> bool:
        """Whether an answer is several messages, each with the beginning of the turn."""
        turn = self.turn.strip()
        parts = (self.content, self.both, self.thought_call, self.content_call)
        return bool(turn) and any(part is not None and turn in part.text for part in parts)

    @property
    def shows_reasoning(self) -> bool:
        """Whether the template writes reasoning at all."""
        return any(part is not None and REASONING in part.text for part in (self.both, self.thought_call))


@dataclass(frozen=True)
class Frames:
    """The markup around reasoning and content.

    Attributes:
        has_reasoning: Whether there is reasoning.
        is_closed_alone: Whether the closer also occurs without an opener.
        is_hidden: Whether the template removes reasoning, and does not close what its prompt has opened.
    """

    has_reasoning: bool = False
    reasoning_open: str = ""
    reasoning_close: str = ""
    content_open: str = ""
    content_close: str = ""
    is_closed_alone: bool = False
    is_hidden: bool = False

    def keys(self, ends: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """Return the frames as keys of a format. The end of an answer is not a closer of the content."""
        content_close = "" if self.content_close.strip() in ends else self.content_close
        found: dict[str, tuple[str, ...]] = {}
        if self.has_reasoning:
            closer = (self.reasoning_close.strip(),) if self.is_closed_alone else ()
            found["reasoning"] = (self.reasoning_open + holes.REASONING + self.reasoning_close, *closer)
        if has_words(self.content_open + content_close):
            found["content"] = (self.content_open + holes.CONTENT + content_close,)
        return found


def propose_messages(shown: Messages) -> Iterator[Frames]:
    """Yield the frames that fit the renderings."""
    closes = _content_closes(shown)
    _, before, _ = shown.around_content or ("", "", "")
    if not shown.shows_reasoning:
        for tag in shown.hidden:
            name = tag.strip("</>")
            for content_close in closes:
                yield Frames(True, f"<{name}>\n", f"\n</{name}>\n\n", "", content_close, is_hidden=True)
    for opener, closer, content_open in _splits(shown):
        for content_close in closes:
            frames = Frames(bool(opener), opener, closer, content_open, content_close)
            yield frames
            if opener and closer.strip() in before:
                yield replace(frames, is_closed_alone=True)


def _splits(shown: Messages) -> Iterator[tuple[str, str, str]]:
    """Yield openers and closers of reasoning, and openers of content; an empty opener means no reasoning."""
    both, thought = shown.both, shown.thought_call
    if both is not None and REASONING in both.text and CONTENT in both.text.split(REASONING, 1)[1]:
        gap = _between(both.text, REASONING, CONTENT)
        for opener in _openers(both, shown):
            for place in _places(gap, shown):
                yield opener, gap[:place], gap[place:]
    elif thought is not None and REASONING in thought.text:
        gap = thought.text.split(REASONING, 1)[1]
        places = [place for place in boundaries(gap) if gap[:place].endswith((">", "]"))][:4]
        for opener in _openers(thought, shown):
            for place in places:
                for content_open in _content_openers(shown):
                    yield opener, gap[:place], content_open
    else:
        yield from _unseen(shown)
        for content_open in _content_openers(shown):
            yield "", "", content_open


def _between(text: str, left: str, right: str) -> str:
    rest = text.split(left, 1)[1]
    return rest[: rest.rindex(right)]


def _openers(shown: Rendered, messages: Messages) -> list[str]:
    """Return possible openers of reasoning: the text before the reasoning, or the end of the prompt."""
    before = shown.text.split(REASONING, 1)[0]
    if messages.repeats_turn:
        return [shown.lead + before]
    if has_words(before):
        return [before, *_suffixes(shown.lead, before)]
    return list(dict.fromkeys([*_suffixes(shown.lead, before), *_suffixes(messages.turn, "")]))


def _suffixes(lead: str, more: str) -> list[str]:
    """Return the ends of the prompt that begin with a tag, or are its last line."""
    starts = [match.start() for match in TAG.finditer(lead)][-3:]
    line = lead.rstrip("\n").rfind("\n") + 1
    if line not in starts and not re.match(r"\s*[<\[]", lead[line:]):
        starts.append(line)
    return [lead[start:] + more for start in sorted(starts, reverse=True) if has_words(lead[start:])]


def _places(gap: str, shown: Messages) -> list[int]:
    """Return where the reasoning's closer can end in the text before the content, the most likely place first."""
    first = []
    if shown.thought_call is not None and REASONING in shown.thought_call.text:
        after = shown.thought_call.text.split(REASONING, 1)[1]
        first.append(tag_start(gap, len(common_start(gap, after))))
    if shown.around_content is not None:
        lead, before, _ = shown.around_content
        shared = common_end(gap, lead + before)
        if has_words(shared):
            first.append(next(cut for cut in boundaries(gap) if cut >= len(gap) - len(shared)))
    first.append(len(gap))
    first += [cut for cut in reversed(boundaries(gap)) if gap[:cut].endswith((">", "]", "\n"))]
    return [place for place in dict.fromkeys(first) if has_words(gap[:place])]


def _unseen(shown: Messages) -> Iterator[tuple[str, str, str]]:
    """Yield openers and closers of reasoning that the prompt opens and the template does not repeat."""
    if shown.around_content is None:
        return
    lead, before, _ = shown.around_content
    word = re.search(r"\w+", before)
    for opener in _suffixes(lead, ""):
        if word and word[0] in opener:  # a closer, not the opener of the content
            yield opener, before, ""


def _content_openers(shown: Messages) -> list[str]:
    if shown.around_content is None:
        return [""]
    lead, before, _ = shown.around_content
    if shown.repeats_turn:
        return [lead + before, before, ""]
    if not has_words(before):
        return [""]
    word = re.search(r"[^\w\s]+$", lead)
    longer = [word[0] + before] if word and word[0].strip() and not re.match(r"[<\[]", before) else []
    return [*longer, before, ""]


def _within(shown: Messages) -> list[str]:
    """Return the texts before the calls, and between reasoning and content."""
    found = [
        part.text.rsplit(CALLS[0].name, 1)[0] for part in (shown.content_call, shown.thought_call) if part
    ]
    return [*found, shown.both.text.split(CONTENT, 1)[0]] if shown.both else found


def _content_closes(shown: Messages) -> list[str]:
    """Return possible closers of the content, the most likely first."""
    if shown.around_content is None:
        return [""]
    _, _, after = shown.around_content
    closes = []
    call = shown.content_call
    if call is not None and CONTENT in call.text and call.text.find(CONTENT) < call.text.find(CALLS[0].name):
        gap = call.text.split(CONTENT, 1)[1]
        closes.append(gap[: tag_start(gap, len(common_start(gap, after)))])
    closes += [after, ""]
    tag = TAG.match(after.strip())
    if tag and not any(tag[0] in text for text in _within(shown)):  # it ends the answer
        closes.insert(0, "")
    return [text if has_words(text) else "" for text in dict.fromkeys(closes)]
