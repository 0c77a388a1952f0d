"""The learner's own renderings, cut down to the model's output."""

from __future__ import annotations

from dataclasses import dataclass, replace

from unspool.formats.templates.probe import USER
from unspool.formats.templates.tagged_texts import TAG, common_end, common_start, has_words, tag_start

__all__ = ["EOS", "Rendered", "common_tail", "cut", "turn_start", "without_tail"]

#: The template's text for a token that the source does not define.
EOS = "<|zqeos|>"
_USER = str(USER["content"])


@dataclass(frozen=True)
class Rendered:
    """One rendering.

    Attributes:
        prompt: The prompt: the rendering up to the answer.
        lead: The end of `prompt` that belongs to the answer's turn.
        text: The model's output, and the template's text after it.
        rest: The part of the generation prompt after `prompt` that this rendering does not contain.
    """

    prompt: str
    lead: str
    text: str
    rest: str = ""


def cut(full: str, prompt: str, bare: str, begins: tuple[str, ...] = ()) -> Rendered:
    """Split a rendering where the model's output begins.

    Args:
        full: The conversation with the answer.
        prompt: The conversation before it, with the generation prompt.
        bare: The same without the generation prompt.
        begins: The beginnings of the answer's texts. They may equal the end of the generation prompt.
    """
    turn_at = turn_start(prompt, bare)
    turn = prompt[turn_at:]
    if prompt == bare and has_words(turn):  # the template begins another turn, whether it should or not
        full = full.rstrip().removesuffix(turn.strip()) if full != prompt else full
    place = len(common_start(full, prompt))
    written = _past(full, place, prompt[place:])
    if (
        written is None and full.find(_USER, place) >= 0
    ):  # the prompt lists its tools elsewhere than a conversation
        asked = full.rfind(_USER) + len(_USER)
        written = _past(full, asked, prompt[prompt.rfind(_USER) + len(_USER) :])
    if written is not None:  # the turn may have other white space than the generation prompt
        return Rendered(full[:written], turn, full[written:])
    place = tag_start(full, place)
    for begin in (begin for begin in begins if begin in full):
        text_at = full.rfind(begin)
        if text_at < place < text_at + len(begin) or full[place:text_at].isalnum():
            place = text_at
            break
    for length in range(len(turn) - 1, 0, -1):  # the template moved the text between prompt and turn
        if full.startswith(turn[length:], place) and full[:place].endswith(turn[:length]):
            place += len(turn) - length
            return Rendered(full[:place], turn, full[place:])
    lead = full[turn_at:place] if full.startswith(prompt[:turn_at]) else ""
    rest = prompt[place:] if prompt.startswith(full[:place]) else ""
    return Rendered(full[:place], lead, full[place:], rest)


def _past(full: str, place: int, rest: str) -> int | None:
    """Return where the rest of the generation prompt ends in a rendering that has other white space; None if it does not
    have it."""
    words = "".join(rest.split())
    if not words:
        return None
    for letter in words:
        while full[place : place + 1].isspace():
            place += 1
        if not full.startswith(letter, place):
            return None
        place += 1
    return place + len(common_start(full[place:], rest[len(rest.rstrip()) :]))


def turn_start(prompt: str, bare: str) -> int:
    """Return where the answer's turn begins in a prompt: after the conversation, or after the user's text."""
    if prompt != bare:
        return len(common_start(prompt, bare))
    user = prompt.rfind(_USER)
    tag = TAG.search(prompt, user + len(_USER))
    if user < 0 or tag is None:
        return len(prompt)
    return tag.end() if has_words(prompt[tag.end() :]) else tag.start()


def common_tail(texts: list[str]) -> str:
    """Return the common end of all texts: the end of an answer, and the template's text after it."""
    tail = texts[0]
    for text in texts[1:]:
        tail = common_end(tail, text)
    start = next(
        (i for i in range(len(tail) + 1) if all(_cuts_nothing(text, len(tail) - i) for text in texts)), 0
    )
    return tail[start:]


def _cuts_nothing(text: str, length: int) -> bool:
    place = len(text) - length
    return tag_start(text, place) == place


def without_tail(rendered: Rendered, tail: str) -> Rendered:
    """Return the rendering without the tail at its end."""
    text = rendered.text.removesuffix(tail) if tail else rendered.text
    return replace(rendered, text=text.split(EOS)[0])
