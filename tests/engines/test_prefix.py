"""An agent's third turn through llama.cpp: the engine's prefix cache has all but what is new."""

from __future__ import annotations

from typing import Any

import httpx
from unspool.serve.engines import connect

from ..serve.conftest import running
from .llama_cpp_server import running_llama_cpp
from .scripted import FORMAT, Stage
from .suite import TOOLS


def test_the_third_turn_evaluates_what_is_new(stage: Stage) -> None:
    """By llama.cpp's own count of the tokens that it evaluates, while other conversations use its slots."""
    tools = [{"type": "function", "function": tool} for tool in TOOLS]
    agents = [
        [
            {"role": "system", "content": f"You are agent {number}. " + "Rules. " * 180},
            {"role": "user", "content": "Hi"},
        ]
        for number in range(3)
    ]
    with running_llama_cpp(stage.gguf) as engine:
        model = connect(engine.url, tokenizer=str(stage.folder), format=FORMAT)
        with running({"m": model}) as server:

            def ask(messages: list[dict[str, Any]]) -> tuple[int, dict[str, Any]]:
                before = _evaluated(engine.url)
                body = {"model": "m", "messages": messages, "tools": tools, "max_tokens": 1}
                answer = httpx.post(
                    f"http://127.0.0.1:{server.port}/v1/chat/completions", json=body, timeout=60
                )
                assert answer.status_code == 200, answer.text
                return _evaluated(engine.url) - before, answer.json()["usage"]

            for turn in range(3):
                for messages in agents:
                    count, usage = ask(messages)
                    cached = usage["prompt_tokens_details"]["cached_tokens"]
                    assert count == usage["prompt_tokens"] - cached
                    if turn:
                        assert count <= 40
                    messages += [
                        {"role": "assistant", "content": "x"},
                        {"role": "user", "content": "Go"},
                    ]
            assert usage["prompt_tokens"] > 1600


def _evaluated(url: str) -> int:
    """Tokens of prompts that were evaluated so far, without those of the cache."""
    metrics = httpx.get(f"{url}/metrics").text
    (line,) = (line for line in metrics.splitlines() if line.startswith("llamacpp:prompt_tokens_total "))
    return int(float(line.split()[1]))
