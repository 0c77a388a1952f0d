"""llama.cpp with random weights: whatever it writes under a grammar is read, and a seed gives the same again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from unspool.serve import ServeOptions
from unspool.serve.engines import connect
from unspool.streams.recording.replay import load_record, replay

from ..gguf_models import write_random_model
from ..serve.conftest import running
from .llama_cpp_server import running_llama_cpp
from .scripted import FORMAT, VOCABULARY
from .suite import TEMPLATE, TOOLS
from .test_suite import check_calls
from .wires import WIRES, Ask

HOT = {"temperature": 2.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    folder = tmp_path_factory.mktemp("random")
    VOCABULARY.write_tokenizer(folder, TEMPLATE)
    write_random_model(folder / "model.gguf", VOCABULARY, TEMPLATE, 4096)
    records = tmp_path_factory.mktemp("records")
    with running_llama_cpp(folder / "model.gguf", 4, 4096) as engine:
        model = connect(engine.url, tokenizer=str(folder), format=FORMAT)
        with running({"m": model}, ServeOptions(record=str(records))) as server:
            yield f"http://127.0.0.1:{server.port}", records


def texts(url: str, **fields: Any) -> list[str]:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 40, **HOT, **fields}
    answer = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    return [json.dumps(choice["message"]) for choice in answer.json()["choices"]]


def test_a_seed_gives_the_same_again(url: tuple[str, Any]) -> None:
    address, _ = url
    assert texts(address, seed=7) == texts(address, seed=7) != texts(address, seed=8)
    first, second, third = texts(address, seed=7, n=3)
    assert len({first, second, third}) == 3
    assert [first] == texts(address, seed=7)


@pytest.mark.parametrize("wire", ["chat", "messages", "responses", "google"])
@pytest.mark.parametrize("seed", [1, 2])
def test_required_calls_are_read(url: tuple[str, Any], wire: str, seed: int) -> None:
    address, _ = url
    shape = WIRES[wire]
    body = shape.body(
        Ask(tools=TOOLS, choice="required", is_parallel=False, max_tokens=3000, temperature=0.8)
    )
    if wire == "google":
        body["generationConfig"]["seed"] = seed
    else:
        body |= {"seed": seed, "logit_bias": {str(VOCABULARY.tokens.index("</think>")): 9}}
    path, streamed = shape.streamed(body)
    answer = httpx.post(f"{address}{path}", json=streamed, timeout=60)
    assert answer.status_code == 200, answer.text
    (found,) = shape.read_stream(answer.content)
    if found.finish_reason != "length":
        check_calls(found.calls, "required")


def test_records_of_random_bytes_are_read_again(url: tuple[str, Any]) -> None:
    """Half characters, markers and ids of nothing."""
    address, records = url
    for seed in range(6):
        texts(address, seed=seed, max_tokens=200)
    files = list(records.glob("*.json"))
    assert len(files) >= 6
    for file in files:
        for answer in load_record(file):
            assert replay(answer).differences == {}
