"""Each engine with the scripted model, and our server in front of it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
from unspool.serve import ServeOptions

from ..serve.conftest import running
from .fake_sglang import FakeSglang, running_sglang
from .llama_cpp_server import running_llama_cpp
from .scripted import FORMAT, VOCABULARY, Stage
from .vllm_servers import Server

__all__ = ["ENGINES", "Served", "serving"]


@dataclass
class Served:
    """Our server in front of an engine.

    Attributes:
        engine: The engine's name.
        model: What our server serves.
        running: How many answers the engine writes now; None: it does not say.
    """

    engine: str
    url: str
    stage: Stage
    model: Any
    running: Callable[[], int] | None = None


@contextlib.contextmanager
def serving(engine: str, stage: Stage, **options: Any) -> Iterator[Served]:
    """Our server in front of the engine with the stage's model."""
    with ENGINES[engine](stage) as (model, counter), running({"m": model}, ServeOptions(**options)) as server:
        yield Served(engine, f"http://127.0.0.1:{server.port}", stage, model, counter)


_Played = Iterator[tuple[Any, Callable[[], int] | None]]


@contextlib.contextmanager
def _in_process(stage: Stage) -> _Played:
    yield stage.make_generator(), None


@contextlib.contextmanager
def _llama_cpp(stage: Stage) -> _Played:
    from unspool.serve.engines import connect

    with running_llama_cpp(stage.gguf) as server:
        model = connect(server.url, tokenizer=str(stage.folder), format=FORMAT)
        yield model, lambda: server.busy_slots


def _fake_sglang(is_incremental: bool) -> Callable[[Stage], Any]:
    @contextlib.contextmanager
    def played(stage: Stage) -> _Played:
        from unspool.serve.engines import connect

        fake = FakeSglang(
            VOCABULARY.token_bytes,
            stage.book.following,
            VOCABULARY.tokens.index(VOCABULARY.end),
            is_incremental,
        )
        with running_sglang(fake) as url:
            yield connect(url, tokenizer=str(stage.folder), format=FORMAT), lambda: fake.running

    return played


@contextlib.contextmanager
def _vllm(stage: Stage) -> _Played:
    from unspool.serve.engines import connect

    flags = ("--load-format", "auto", "--max-model-len", str(len(stage.book.following)))
    flags += ("--enable-prompt-tokens-details",)
    # Without a reasoning parser: with one, vLLM holds to a grammar only behind the reasoning that its own parser finds.
    server = Server(stage.write_model(), "scripted", *flags)
    try:
        server.wait()
        yield connect(server.url, tokenizer=str(stage.folder), format=FORMAT), lambda: _running(server.url)
    finally:
        server.stop()


def _running(url: str) -> int:
    """By vLLM's metrics."""
    metrics = httpx.get(f"{url}/metrics").text
    found = re.search(r"^vllm:num_requests_running\S* (\S+)$", metrics, re.M)
    assert found
    return int(float(found[1]))


ENGINES: dict[str, Callable[[Stage], Any]] = {
    "in process": _in_process,
    "llama.cpp": _llama_cpp,
    "SGLang's shapes": _fake_sglang(is_incremental=False),
    "SGLang's shapes, incremental": _fake_sglang(is_incremental=True),
}
if os.environ.get("UNSPOOL_ENGINE") == "vllm":
    ENGINES = {"vLLM": _vllm}
