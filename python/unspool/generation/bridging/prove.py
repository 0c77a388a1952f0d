"""Compares the text of the ids with the template's rendering of the parsed conversation."""

from __future__ import annotations

from dataclasses import dataclass

from unspool._core import Detokenizer
from unspool.core.stream.labels import REGIONS
from unspool.formats.templates.tagged_texts import common_start
from unspool.generation.bridging.bridge_request import Request
from unspool.generation.bridging.bridge_result import Kind, Reason
from unspool.generation.bridging.ended_answer import Ended, decode

__all__ = ["Texts", "find_difference"]

_SHOWN = 40


@dataclass(frozen=True)
class Texts:
    """The template's renderings.

    Attributes:
        bare: The conversation before the answer.
        prompt: The same with the generation prompt.
        whole: The same with the answer and the messages after it; None if the template cannot render it.
        error: The reason why there is no `whole`.
    """

    bare: str
    prompt: str
    whole: str | None
    error: str


def find_difference(request: Request, ended: Ended, texts: Texts, ids: list[int]) -> Reason | None:
    """Return the first difference, or None if the texts are equal."""
    bad = [call for call in ended.message.tool_calls if not call.is_complete]
    if bad:
        return "unfinished call", f"the call to {bad[0].name!r} is {bad[0].status}"
    if texts.whole is None:
        return "template", f"the template does not render the parsed answer: {texts.error}"
    prompt = decode(request.vocabulary, request.prompt)
    text = decode(request.vocabulary, ids)
    if request.messages is None:
        generation = texts.prompt.removeprefix(texts.bare)
        if not prompt.endswith(generation):
            return _shown("generation prompt", "end with", prompt[-_SHOWN:], generation[-_SHOWN:])
        text, prompt = texts.prompt + text[len(prompt) :], texts.prompt
    if text == texts.whole:
        return None
    place = len(common_start(text, texts.whole))
    kind = _kind(request, ended, texts, (text, prompt), place)
    return _shown(kind, "go on with", *(side[place : place + _SHOWN] for side in (text, texts.whole)))


def _kind(request: Request, ended: Ended, texts: Texts, ours: tuple[str, str], place: int) -> Kind:
    text, prompt = ours
    whole = texts.whole or ""
    turn = len(texts.bare) if prompt.startswith(texts.bare) else len(prompt)
    if place < turn:
        return "history rewritten"
    if _drops_reasoning(request, ended, (text, whole), (turn, place)):
        return "reasoning dropped"
    if place < len(prompt):
        return "generation prompt"
    region = _region(request, ended, place - len(prompt))
    if region in ("name", "arguments"):
        return "arguments re-serialised"
    if _after_space(text, place) == _after_space(whole, place):
        return "white space"
    return "end of turn" if region in ("end", "") else "history rewritten"


def _drops_reasoning(request: Request, ended: Ended, both: tuple[str, str], places: tuple[int, int]) -> bool:
    """Whether the difference is in the reasoning, because the template omits it and its tags."""
    (text, whole), (turn, place) = both, places
    reasoning = ended.message.reasoning.strip()
    if reasoning:
        end = text.find(reasoning, turn) + len(reasoning)
        return place <= end and reasoning not in whole[turn:]
    shapes = request.file.shape.reasoning
    closer = shapes[0].close.text if shapes else ""
    closer_at = text.find(closer, turn) if closer else -1
    length = len(closer) + len(shapes[0].open.literal) if shapes else 0
    return place < closer_at + len(closer) and closer not in whole[max(0, place - length) : place + length]


def _region(request: Request, ended: Ended, place: int) -> str:
    """Return the role of the token at this place of the answer; "" after the answer."""
    detokenizer = Detokenizer(request.vocabulary, skip_special_tokens=False, context=request.prompt)
    length = 0
    for token, region in zip(request.answer, ended.labels.regions, strict=True):
        length += len(detokenizer.put(token))
        if place < length:
            name: str = REGIONS[region]
            return name
    return ""


def _after_space(text: str, place: int) -> str:
    return text[place : place + _SHOWN * 4].lstrip()[: _SHOWN // 4]


def _shown(kind: Kind, verb: str, ours: str, theirs: str) -> Reason:
    return kind, f"the ids {verb} {ours!r}, the template with {theirs!r}"
