"""Renders answers for a proof, as far as the template can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unspool.formats.learning.probe import Answer, Shape, job_of, prompt_job
from unspool.formats.learning.proof_answers import BACKSLASHES
from unspool.formats.learning.prove import Reading
from unspool.formats.learning.rendered import cut, without_tail
from unspool.formats.learning.sandbox import Sandbox
from unspool.formats.learning.shown import Shown

__all__ = ["Renderer"]


@dataclass(frozen=True)
class Renderer:
    """Renders answers of one shape, with the tools that they call."""

    sandbox: Sandbox
    shape: Shape
    common: dict[str, Any]

    def readings(self, answers: Mapping[str, Answer], shown: Shown) -> list[Reading]:
        """Return the renderings of the answers, cut like the learner's own."""
        jobs = [prompt_job(self.shape), prompt_job(self.shape, False)]
        for answer in answers.values():
            twin = Answer(answer.reasoning, answer.content, answer.calls)
            jobs += [job_of(answer, self.shape), job_of(twin, self.shape)]
        made = [text for text, _ in self.sandbox.render(jobs, self.common)]
        prompt, bare = made[0] or "", made[1] or ""
        found = []
        for (name, answer), text, twin_text in zip(answers.items(), made[2::2], made[3::2], strict=True):
            if text is None or (text == twin_text and answer.content and not answer.reasoning):
                continue  # the template writes content as reasoning, so they cannot be distinguished
            rendered = without_tail(cut(text, prompt, bare, _first_lines(answer)), shown.tail)
            seen = _seen(answer, rendered.text)
            is_lossy = name == BACKSLASHES and _LOSSY in rendered.text
            if seen is not None and not is_lossy and shown.is_one_answer(rendered.text):
                found.append(
                    Reading(name, rendered.prompt, rendered.text, seen, rendered.rest, rendered.lead)
                )
        return found


#: A backslash that should be doubled in a Python call.
_LOSSY = "='C:\\new"


def _first_lines(answer: Answer) -> tuple[str, ...]:
    return tuple(text.split("\n")[0] for text in (answer.reasoning, answer.content) if text)


def _seen(answer: Answer, text: str) -> Answer | None:
    """Return the answer without the parts that the template omits; None if it omits a call."""
    if any(call.name not in text for call in answer.calls):
        return None
    content = answer.content if answer.content.strip().split("\n")[0] in text else ""
    reasoning = answer.reasoning if answer.reasoning.strip().split("\n")[0] in text else ""
    return Answer(content, reasoning, answer.calls)
