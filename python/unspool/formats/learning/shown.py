"""Finds turns, ends and the texts between holes in the learner's own renderings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from unspool.errors import LearnError
from unspool.formats.learning.messages import Frames, Messages
from unspool.formats.templates.probe import (
    CALLS,
    CONTENT,
    REASONING,
    TYPED,
    USER,
    Answer,
    Shape,
    job_of,
    prompt_job,
)
from unspool.formats.templates.rendered import EOS, Rendered, common_tail, cut, turn_start, without_tail
from unspool.formats.templates.sandbox import Sandbox
from unspool.formats.templates.shapes import THINKING
from unspool.formats.templates.tagged_texts import TAG

__all__ = ["Shown", "render_known"]

_ANSWERS = {
    "content": Answer(CONTENT),
    "both": Answer(CONTENT, REASONING),
    "thought_call": Answer("", REASONING, CALLS[:1]),
    "thought_calls": Answer("", REASONING, CALLS),
    "content_call": Answer(CONTENT, "", CALLS[:1]),
    "content_calls": Answer(CONTENT, "", CALLS),
    "call": Answer(calls=CALLS[:1]),
    "calls": Answer(calls=CALLS),
    "typed": Answer(calls=(TYPED,)),
}

#: The beginning of a turn: a tag and a word, or a line.
_HEAD = re.compile(rf"(?:{TAG.pattern})\w*|[^\n]+")


@dataclass(frozen=True)
class _Prompts:
    """Renderings of a prompt: with the shape's variables, without the generation prompt, and with the defaults."""

    prompt: str
    bare: str
    default: str


class Shown:
    """The learner's renderings, without the text after every answer.

    Attributes:
        texts: The renderings by name, without those that the template rejects.
        tail: The text after every answer.
        ends: The marker that ends an answer, if `tail` shows it.
        later: The marker between an answer and the next turn.
        messages: The renderings with reasoning and content.
    """

    def __init__(
        self,
        by_name: dict[str, Rendered],
        prompts: _Prompts,
        hidden: tuple[str, ...],
        *,
        has_one_turn: bool = False,
    ) -> None:
        self._found, self._prompts, self._hidden, self._has_one_turn = by_name, prompts, hidden, has_one_turn
        turn = self.prompt[turn_start(self.prompt, prompts.bare) :]
        head = _HEAD.match(turn.strip())
        self._head = head[0] if head else ""
        counted = {name: rendered for name, rendered in by_name.items() if self.is_one_answer(rendered.text)}
        self.tail = _tail(counted)
        self.texts = {name: without_tail(rendered, self.tail) for name, rendered in counted.items()}
        self.ends = _end_of(self.tail)
        within = _within(counted)
        self.later = tuple(
            end for end in _end_of(_after_content(by_name)) if not any(end in text for text in within)
        )
        self.messages = Messages(
            content=self.texts.get("content"),
            both=self.texts.get("both"),
            thought_call=self.texts.get("thought_call"),
            content_call=self.texts.get("content_call"),
            turn=turn,
            hidden=hidden,
        )

    @property
    def prompt(self) -> str:
        """The prompt before the renderings' answers."""
        return self._prompts.prompt

    @property
    def splits_turns(self) -> bool:
        """Whether some answers are written as several turns."""
        return bool(self._head) and any(self._head in rendered.text for rendered in self._found.values())

    def of_one_turn(self) -> Shown:
        """Return the renderings without answers of several turns, because the model ends each turn itself."""
        return Shown(self._found, self._prompts, self._hidden, has_one_turn=True)

    def is_one_answer(self, text: str) -> bool:
        """Whether a rendering is a single turn."""
        return not (self._has_one_turn and self._head in text)

    def turns(self, frames: Frames) -> list[str]:
        """Return possible default ends of the prompt: unchanged, and without a reasoning opener or closer.

        Reasoning that the prompt both opens and closes is left out.
        """
        default = self._prompts.default
        turn = default[turn_start(default, self._prompts.bare) :]
        opener, closer = frames.reasoning_open.strip(), frames.reasoning_close.strip()
        if closer and closer in turn and opener in turn:
            turn = turn[: turn.index(opener)]
        without = turn.rstrip().removesuffix(opener) if opener else turn
        # The prompt closes what it does not open.
        closes = bool(closer) and turn.rstrip().endswith(closer)
        unclosed = turn.rstrip().removesuffix(closer) if closes else turn
        return list(dict.fromkeys([unclosed, turn, without]))

    def ends_with(self, frames: Frames, more: tuple[str, ...]) -> tuple[str, ...]:
        """Return the texts that end an answer whose content has this markup around it."""
        ends = [*self.ends, *more]
        if not frames.content_close and not self.ends and "content" in self.texts:
            tag = TAG.match(self.texts["content"].text.split(CONTENT, 1)[-1].strip())
            ends += [tag[0]] if tag else []
        return tuple(dict.fromkeys(ends or self.later))


def render_known(sandbox: Sandbox, shape: Shape, common: dict[str, Any], template: str) -> Shown:
    """Render the known values.

    Raises:
        LearnError: The template rejects a plain prompt, or a limit is exceeded.
    """
    tags = _closing_tags(template)
    thoughts = [Answer(f"{REASONING}{tag}{CONTENT}") for tag in tags]
    answers: list[list[Answer]] = [[answer] for answer in (*_ANSWERS.values(), *thoughts)]
    answers += [[thought, Answer("zqlater")] for thought in thoughts]
    jobs = [
        prompt_job(shape), prompt_job(shape, False), prompt_job(Shape()), prompt_job(Shape(variables=THINKING)),
        job_of([Answer(CONTENT), Answer("zqlater")], shape),
    ]  # fmt: skip
    outputs = sandbox.render([*jobs, *(job_of(answer, shape) for answer in answers)], common)
    prompt, bare, default, thinking, later = (text or "" for text, _ in outputs[: len(jobs)])
    if not prompt:
        raise LearnError(f"the chat template refuses a plain prompt: {outputs[0][1]}")
    texts = [text for text, _ in outputs[len(jobs) :]]
    messages = {
        name: cut(text, prompt, bare, (REASONING, CONTENT))
        for name, text in [*zip(_ANSWERS, texts, strict=False), ("later", later)]
        if text is not None
    }
    opened = prompt[len(bare) :] + thinking[len(bare) :]
    hidden = tuple(
        tag
        for number, tag in enumerate(tags)
        if f"<{tag[2:]}" in opened and any(map(_lacks_reasoning, texts[len(_ANSWERS) + number :: len(tags)]))
    )
    return Shown(messages, _Prompts(prompt, bare, default), hidden)


def _closing_tags(template: str) -> list[str]:
    """Return the closing tags in the template, which may search for one in a content."""
    found = re.findall(r"</[a-zA-Z_:]+>", template)
    return [tag for tag in dict.fromkeys(found) if "think" in tag or found.count(tag) > 1][:12]


def _lacks_reasoning(text: str | None) -> bool:
    return text is not None and CONTENT in text and REASONING not in text


def _after_content(found: dict[str, Rendered]) -> str:
    """Return the text between an answer and the next user turn."""
    text = found["later"].text if "later" in found else ""
    return text.split(CONTENT, 1)[-1].split(str(USER["content"]))[0] if CONTENT in text else ""


def _end_of(text: str) -> tuple[str, ...]:
    """Return the first marker after an answer: a tag, or a word that is not text."""
    words = text.split()
    if not words or EOS in words[0]:
        return ()
    tag = TAG.match(text.strip())
    if tag:
        return (tag[0],)
    return (words[0],) if len(words[0]) > 1 and not words[0][0].isalpha() else ()


def _within(found: dict[str, Rendered]) -> list[str]:
    """Return the texts before the calls of an answer."""
    names = ("content_call", "thought_call")
    return [found[name].text.rsplit(CALLS[0].name, 1)[0] for name in names if name in found]


def _tail(rendered: dict[str, Rendered]) -> str:
    """Return the text after every answer, from the first tag that does not also occur within one."""
    afters = []
    for name, mark in (("content", CONTENT), ("call", "zqvalc"), ("calls", "zqsecc")):
        text = rendered[name].text if name in rendered else ""
        if mark in text:
            afters.append(text.rsplit(mark, 1)[1])
    if not afters:
        return ""
    tail = common_tail(afters)
    within = _within(rendered)
    tags = list(TAG.finditer(tail))
    own = [tag for tag in tags if not any(tag[0] in text for text in within)]
    if not tags or own[:1] == tags[:1]:
        return tail
    return tail[own[0].start() :] if own else ""
