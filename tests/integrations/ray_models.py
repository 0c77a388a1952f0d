"""A model for Ray's replicas, which cannot import the tests: this module travels to them by value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unspool import DeltaChannel, DeltaStream
from unspool.generation.answers import Answers
from unspool.generation.worker import GenerationWorker
from unspool.serve.demo_run import DemoRun, Script
from unspool.streams.parser import ChannelParser


@dataclass(kw_only=True)
class EndlessRun(DemoRun):
    """A model that writes for two minutes, and a byte into a file for each of its steps."""

    log: Path

    def _put(self, step: int) -> None:
        super()._put(step)
        with self.log.open("ab") as file:
            file.write(b".")
        if step == 20 and self.scripts[0].pieces[0] == "fails":
            raise RuntimeError("the card has melted")


class EndlessModel:
    format = "hermes"
    template_names = ()

    def __init__(self, log: Path, word: str) -> None:
        self._log, self._word = log, word

    def stream(self, _: Any, **options: Any) -> DeltaStream:
        channel = DeltaChannel()
        parser = ChannelParser("hermes", options["tools"], channel=channel, closes_channel=False)
        run = EndlessRun(
            channel=channel,
            answers=Answers([parser]),
            setups=(),
            prompt_tokens=1,
            scripts=[Script([self._word] * 12000, "stop")],
            delay_s=0.01,
            log=self._log,
        )
        return DeltaStream.start(run, GenerationWorker(channel, run.work), options["timeout"])


class MakeModels:
    """What a replica calls for its models."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def __call__(self) -> dict[str, Any]:
        return {"endless": EndlessModel(self._log, "word "), "failing": EndlessModel(self._log, "fails")}
