"""Servers for the tests: in this process through ASGI, or a real one on loopback."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from unspool import DeltaChannel, DeltaStream, StreamGenerator
from unspool.errors import ChannelCancelledError
from unspool.generation.answers import Answers
from unspool.generation.model_run import ModelRun
from unspool.generation.worker import GenerationWorker
from unspool.serve import ApiServer, ServeOptions, create_app
from unspool.serve.models.demo_model import DemoModels
from unspool.streams.parser import ChannelParser
from unspool.streams.recording.recorded_answer import ParserSetup


@dataclass(kw_only=True)
class Script(ModelRun[Answers]):
    """A worker's job that a test writes: `body(script)`, which calls `put`, and may read `prompt`."""

    body: Callable[[Script], None]
    prompt: Any

    @property
    def put_count(self) -> int:
        return len(self.answers.texts[0])

    def put(self, text: str) -> None:
        """One step of the model."""
        if self.channel.is_cancelled:
            raise ChannelCancelledError("the consumer has left")
        self.answers.put_text(0, text, [self.put_count])

    def work(self) -> None:
        with self.running():
            self.body(self)
            self.answers.finish(0, "stop")


class ScriptedModel:
    """Writes what a test's function puts, and keeps what it was asked for."""

    def __init__(self, body: Callable[[Script], None], format: str = "hermes") -> None:
        self._body = body
        self._format = format
        self.template_names = ("enable_thinking",)
        self.asked: list[dict[str, Any]] = []
        self.channels: list[DeltaChannel] = []
        self.runs: list[Script] = []

    def stream(self, prompt: Any, **options: Any) -> DeltaStream:
        self.asked.append({"prompt": prompt, **options})
        channel = DeltaChannel()
        parser = ChannelParser(self._format, options["tools"], channel=channel, closes_channel=False)
        run = Script(
            channel=channel,
            answers=Answers([parser]),
            setups=[ParserSetup(self._format, options["tools"])],
            prompt_tokens=3,
            body=self._body,
            prompt=prompt,
        )
        self.channels.append(channel)
        self.runs.append(run)
        return DeltaStream.start(run, GenerationWorker(channel, run.work), options["timeout"])

    def format_name(self, tools: Any) -> str:  # noqa: ARG002
        return self._format

    def count_tokens(self, prompt: Any, **_: Any) -> int:
        return len(prompt)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def client_of(app: Any, **options: Any) -> Any:
    """An asynchronous client of an app in this process."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    headers = {"Content-Type": "application/json", **options.pop("headers", {})}
    return httpx.AsyncClient(
        transport=transport, base_url="http://test", timeout=30, headers=headers, **options
    )


@pytest.fixture
def make_client() -> Any:
    """`make_client(models, **options of the server)`; its `app` is the application."""

    def make(models: Any = None, **options: Any) -> Any:
        app = create_app(DemoModels() if models is None else models, ServeOptions(**options))
        client = client_of(app)
        client.app = app
        return client

    return make


@contextlib.contextmanager
def running(models: Any, options: ServeOptions | None = None, **fire: Any) -> Iterator[ApiServer]:
    """A real server on loopback, in a thread."""
    server = ApiServer(models, options=options)
    fire = {"host": "127.0.0.1", "port": 0, "metrics_port": -1, "log_level": "error", **fire}
    raised: list[BaseException] = []

    def run() -> None:
        try:
            server.fire(**fire)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        assert server.wait_until_listening(20), raised
        yield server
    finally:
        server.stop()
        thread.join(20)
    assert not thread.is_alive()
    assert not raised


@pytest.fixture(scope="session")
def demo_url() -> Iterator[str]:
    """The address of a demo server."""
    with running(DemoModels()) as server:
        yield f"http://127.0.0.1:{server.port}"


def events_of(text: str) -> list[tuple[str | None, Any]]:
    """The (event, data) of a stream; data that is not JSON as it is."""
    events = []
    for frame in text.split("\n\n"):
        lines = [line for line in frame.split("\n") if line and not line.startswith(":")]
        if not lines:
            continue
        fields = dict(line.split(": ", 1) for line in lines)
        data = fields["data"]
        events.append((fields.get("event"), json.loads(data) if data != "[DONE]" else data))
    return events


def ask_the_weather(script: Script) -> None:
    """Two calls at once, after a thought; with their results, an answer."""
    if script.prompt[-1]["role"] == "tool":
        script.put("<think>Both are known.</think>Warm.")
        return
    script.put("<think>Two cities.</think>")
    for city in ("Paris", "Oslo"):
        script.put(f'<tool_call>{{"name": "get_weather", "arguments": {{"city": "{city}"}}}}</tool_call>')


USER = [{"role": "user", "content": "Hello"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Looks up.",
        "parameters": {
            "type": "object",
            "properties": {"word": {"type": "string"}, "count": {"type": "integer"}},
        },
    },
}


TEMPLATE = (
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    from ..tiny_models import make_byte_tokenizer

    return make_byte_tokenizer(chat_template=TEMPLATE)


@pytest.fixture(scope="session")
def llama(tokenizer: Any) -> Any:
    from ..tiny_models import make_llama

    return make_llama(tokenizer)


@pytest.fixture(params=["transformers", "native", "batched"])
def generator(request: pytest.FixtureRequest, llama: Any, tokenizer: Any) -> StreamGenerator:
    from ..generation.helpers import BACKENDS

    if request.param not in BACKENDS:
        pytest.skip("this transformers has no such backend")
    return StreamGenerator(llama, tokenizer, format="hermes", backend=request.param)
