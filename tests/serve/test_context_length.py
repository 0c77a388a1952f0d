"""A prompt that does not fit the model's positions: refused before the first byte, in the protocol's form."""

from __future__ import annotations

from typing import Any

import pytest
from unspool import GenerationDefaults, StreamGenerator

from .conftest import USER

pytestmark = pytest.mark.anyio

LONG = "x" * 1100
MESSAGES = [{"role": "user", "content": LONG}]


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": MESSAGES}),
        ("/v1/chat/completions", {"messages": USER, "max_tokens": 1020}),
        ("/v1/completions", {"prompt": LONG}),
        ("/v1/completions", {"prompt": [1] * 1024}),
        ("/v1/responses", {"input": LONG}),
        ("/v1/messages", {"messages": MESSAGES, "max_tokens": 5}),
        ("/v1/messages", {"messages": USER, "max_tokens": 1020}),
    ],
)
async def test_it_is_refused(
    make_client: Any, generator: StreamGenerator, path: str, body: Any, stream: bool
) -> None:
    client = make_client({"m": generator})
    answer = await client.post(path, json={"model": "m", "stream": stream, **body})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert "prompt is too long" in error["message"]
    assert "maximum context length is 1024 tokens" in error["message"]
    assert error["type"] == "invalid_request_error"
    if path != "/v1/messages":
        assert error["code"] == "context_length_exceeded"
    metrics = (await client.get("/metrics")).text
    assert 'status="invalid"' in metrics


async def test_a_limit_of_the_servers_own_is_lowered(make_client: Any, llama: Any, tokenizer: Any) -> None:
    config = GenerationDefaults(max_new_tokens=5000)
    client = make_client({"m": StreamGenerator(llama, tokenizer, format="none", config=config)})
    body = {"model": "m", "prompt": "x" * 1000, "stream": False}
    answer = (await client.post("/v1/completions", json=body)).json()
    assert answer["usage"]["prompt_tokens"] == 1000
    assert 1 <= answer["usage"]["completion_tokens"] <= 24
    assert (await client.post("/v1/completions", json={**body, "max_tokens": 24})).status_code == 200
    assert (await client.post("/v1/completions", json={**body, "max_tokens": 25})).status_code == 400
