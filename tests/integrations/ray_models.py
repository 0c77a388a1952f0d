"""A model for Ray's replicas, which cannot import the tests: this module travels to them by value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unspool import DeltaChannel, DeltaStream
from unspool.generation.answers import Answers
from unspool.generation.worker import GenerationWorker
from unspool.serve.models.demo_run import DemoRun, Script
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


@dataclass
class CompletionRequest:
    """In the place of that of `ray.serve.llm`, which needs vLLM: it has the fields of its body."""

    body: dict[str, Any]


@dataclass
class ErrorResponse:
    """As of `ray.serve.llm`."""

    error: dict[str, Any]

    def model_dump(self) -> dict[str, Any]:
        return {"error": self.error}


class Llm:
    """A deployment in the shape of `ray.serve.llm`'s LLMServer: `completions` returns a generator, of lists of events."""

    def __init__(self, folder: str, log: Path) -> None:
        from unspool import ChatTokenizer

        self._tokenizer = ChatTokenizer.from_pretrained(folder)
        self._log = log

    async def completions(self, request: CompletionRequest) -> Any:
        return self._answer(request.body)

    async def _answer(self, body: dict[str, Any]) -> Any:
        import asyncio
        import json

        def event(**choice: Any) -> str:
            return f"data: {json.dumps({'choices': [choice]})}\n\n"

        vocabulary: Any = self._tokenizer.vocabulary
        said = b"".join(map(vocabulary.token_bytes, body["prompt"])).decode()
        if "refuse" in said:
            yield [ErrorResponse({"message": "the prompt is too long", "code": 400})]
            return
        if "fail" in said:
            raise RuntimeError("the card has melted")
        if "endless" in said:
            while True:
                with self._log.open("ab") as file:
                    file.write(b".")
                yield [event(text="a", token_ids=self._tokenizer.encode("a", False))]
                await asyncio.sleep(0.01)
        ids = self._tokenizer.encode('so<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>', False)
        for at in range(0, len(ids), 4):
            yield [event(text="", token_ids=[id]) for id in ids[at : at + 4]]
        usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": len(ids)}
        yield [
            event(text="", token_ids=[], finish_reason="stop"),
            f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n",
        ]
        yield ["data: [DONE]\n\n"]


class MakeEngines:
    """What a replica of the ingress calls for its models."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __call__(self) -> dict[str, Any]:
        from ray import serve
        from unspool import ChatTokenizer
        from unspool.integrations.ray_engine import DeploymentEngine
        from unspool.serve.engines import EngineModel

        tokenizer = ChatTokenizer.from_pretrained(self._folder, trust_template=True)
        engine = DeploymentEngine(serve.get_app_handle("llm"), "m", make_request=CompletionRequest)
        return {"m": EngineModel(engine, tokenizer, format="hermes")}
