"""The job of a demo model's worker: replays texts, a piece at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from unspool.errors import ChannelCancelledError
from unspool.generation.answers import Answers
from unspool.generation.model_run import ModelRun

__all__ = ["DemoRun", "Script"]


@dataclass
class Script:
    """The text of one answer in pieces, and why it ends."""

    pieces: Sequence[str]
    finish_reason: str
    stop_reason: str | None = None


@dataclass(kw_only=True)
class DemoRun(ModelRun[Answers]):
    """Puts a piece of each answer at a time, as a model's steps would.

    Attributes:
        scripts: One for each answer.
        delay_s: How long a step takes.
    """

    no_prefill_reason = "a demo reads no prompt"

    scripts: Sequence[Script]
    delay_s: float

    def work(self) -> None:
        """The worker's job."""
        with self.running():
            for step in range(max(len(script.pieces) for script in self.scripts)):
                self._put(step)
            for row, script in enumerate(self.scripts):
                self.answers.finish(row, script.finish_reason, script.stop_reason)

    def _put(self, step: int) -> None:
        if self.delay_s:
            time.sleep(self.delay_s)
        if self.channel.is_cancelled:  # what is held back would not notice
            raise ChannelCancelledError("the consumer has left")
        for row, script in enumerate(self.scripts):
            if step < len(script.pieces) and not self.answers.parsers[row].is_stopped:
                self.answers.put_text(row, script.pieces[step], [step])

    @property
    def name(self) -> str:
        """For a log."""
        return "a demo"

    def prompt_of(self, row: int) -> str:
        """The end of the prompt that the answer's case has."""
        return self.setups[row].options.get("prompt") or ""
