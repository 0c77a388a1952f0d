"""Renders answers for a proof, as far as the template can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unspool.formats.learning.proof_answers import BACKSLASHES
from unspool.formats.learning.prove import Reading
from unspool.formats.learning.shown import Shown
from unspool.formats.templates.probe import Answer, Shape, job_of, prompt_job
from unspool.formats.templates.rendered import cut, without_tail
from unspool.formats.templates.sandbox import Sandbox

__all__ = ["Renderer"]


@dataclass(frozen=True)
class Renderer:
    """Renders answers of one shape, with the tools that they call.

    Attributes:
        reasons: By the name of an answer, why it has no reading.
    """

    sandbox: Sandbox
    shape: Shape
    common: dict[str, Any]
    reasons: dict[str, str] = field(default_factory=dict, compare=False)

    def readings(self, answers: Mapping[str, Answer], shown: Shown) -> list[Reading]:
        """Return the renderings of the answers, cut like the learner's own."""
        jobs = [prompt_job(self.shape), prompt_job(self.shape, False)]
        for answer in answers.values():
            twin = Answer(answer.reasoning, answer.content, answer.calls)
            jobs += [job_of(answer, self.shape), job_of(twin, self.shape)]
        rendered = self.sandbox.render(jobs, self.common)
        texts = [text for text, _ in rendered]
        prompt, bare = texts[0] or "", texts[1] or ""
        cut_answers = []
        for at, (name, answer) in enumerate(answers.items()):
            (text, error), twin_text = rendered[2 + 2 * at], texts[3 + 2 * at]
            reading = None if text is None else self._reading(name, answer, text, (prompt, bare), shown)
            if text is None:
                self.reasons[name] = f"the template fails: {error}"
            elif text == twin_text and answer.content and not answer.reasoning:
                self.reasons[name] = "the template writes content and reasoning alike"
            elif isinstance(reading, str):
                self.reasons[name] = reading
            elif reading is not None:
                cut_answers.append(reading)
        return cut_answers

    def _reading(
        self, name: str, answer: Answer, text: str, prompts: tuple[str, str], shown: Shown
    ) -> Reading | str:
        """Return the reading of a rendering, or why there is none."""
        rendered = without_tail(cut(text, *prompts, _first_lines(answer)), shown.tail)
        seen = _seen(answer, rendered.text)
        if seen is None:
            return "the template leaves out the name of a call"
        if name == BACKSLASHES and _LOSSY in rendered.text:
            return "the template does not double backslashes"
        if not shown.is_one_answer(rendered.text):
            return "the template writes the answer as several turns"
        return Reading(name, rendered.prompt, rendered.text, seen, rendered.rest, rendered.lead)


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
