"""The job of a demo model's worker: replays texts piece by piece."""

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
    """The text of one answer in pieces, and its finish reason."""

    pieces: Sequence[str]
    finish_reason: str
    stop_reason: str | None = None


@dataclass(kw_only=True)
class DemoRun(ModelRun[Answers]):
    """Feeds one piece of each answer to its parser at a time, as a model's steps would.

    Attributes:
        scripts: One script for each answer.
        delay_s: Seconds that a step takes.
    """

    no_prefill_reason = "a demo reads no prompt"

    scripts: Sequence[Script]
    delay_s: float

    def work(self) -> None:
        """Replay the scripts; the worker's job."""
        with self.running():
            for step in range(max(len(script.pieces) for script in self.scripts)):
                self._put(step)
            for row, script in enumerate(self.scripts):
                self.answers.finish(row, script.finish_reason, script.stop_reason)

    def _put(self, step: int) -> None:
        if self.delay_s:
            time.sleep(self.delay_s)
        if self.channel.is_cancelled:  # while text is held back, nothing else would notice
            raise ChannelCancelledError("the consumer has left")
        for row, script in enumerate(self.scripts):
            if step < len(script.pieces) and not self.answers.parsers[row].is_stopped:
                self.answers.put_text(row, script.pieces[step], [step])

    @property
    def name(self) -> str:
        """The name in the log."""
        return "a demo"

    def prompt_of(self, row: int) -> str:
        """Return the end of the prompt in the answer's case."""
        return self.setups[row].options.get("prompt") or ""
