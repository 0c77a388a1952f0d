"""What an answer has beside its text, through each engine: counts, log-probabilities, records, an end when the client leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from unspool.streams.recording.replay import load_record, replay

from ..serve.conftest import events_of
from .engines import ENGINES, Served, serving
from .scripted import VOCABULARY, Stage
from .suite import CUSTOM, INPUT, SUITE, Turn
from .wires import WIRES


def turn_of(name: str, wire: str = "chat") -> Turn:
    (found,) = (turn for turn in [*SUITE, *CUSTOM] if (turn.wire, turn.scenario.name) == (wire, name))
    return found


def post(served: Served, name: str, wire: str = "chat", **fields: Any) -> Any:
    body = {**served.stage.book.body(turn_of(name, wire)), **fields}
    answer = httpx.post(f"{served.url}{WIRES[wire].path}", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("stream", [False, True])
def test_log_probabilities_have_the_bytes_of_the_answer(served: Served, stream: bool) -> None:
    answer = post(served, "text", logprobs=True, top_logprobs=2, stream=stream)
    if stream:
        choices = [event["choices"][0] for _, event in events_of(answer.text) if event != "[DONE]"]
        entries = [
            entry for choice in choices for entry in (choice.get("logprobs") or {}).get("content") or ()
        ]
    else:
        entries = answer.json()["choices"][0]["logprobs"]["content"]
    written = b"".join(bytes(entry["bytes"]) for entry in entries).decode()
    assert written.removesuffix(VOCABULARY.end) == turn_of("text").scenario.output
    told = [entry for entry in entries if entry["logprob"] > -1000]
    assert all(entry["logprob"] > -0.01 for entry in told)
    # llama.cpp tells none of the tokens that it holds back until a character is whole.
    untold = 4 if served.engine == "llama.cpp" else 0
    assert len(entries) - len(told) == untold
    assert all(len(entry["top_logprobs"]) == 2 for entry in told)


def test_counts(served: Served) -> None:
    scenario = turn_of("text and a call")
    first = post(served, "text and a call").json()["usage"]
    again = post(served, "text and a call").json()["usage"]
    count = len(served.model.tokenize("".join(scenario.scenario.output)))
    for usage in (first, again):
        assert usage["completion_tokens"] in (count, count + 1)  # with the end
        assert usage["completion_tokens_details"]["reasoning_tokens"] > 0
    body = served.stage.book.body(scenario)
    assert first["prompt_tokens"] == served.model.count_tokens(body["messages"], tools=body["tools"])
    if served.engine != "in process":
        assert again["prompt_tokens_details"]["cached_tokens"] >= first["prompt_tokens"] - 16


def test_prompts_are_counted(served: Served) -> None:
    for wire, path in (
        ("messages", "/v1/messages/count_tokens"),
        ("google", "/v1beta/models/m:countTokens"),
    ):
        answer = post(served, "a call", wire).json()
        count = (
            answer["usage"]["input_tokens"]
            + (answer["usage"].get("cache_read_input_tokens") or 0)
            + (answer["usage"].get("cache_creation_input_tokens") or 0)
            if wire == "messages"
            else answer["usageMetadata"]["promptTokenCount"]
        )
        body = served.stage.book.body(turn_of("a call", wire))
        body.pop("max_tokens", None)
        if wire == "google":
            body = {"generateContentRequest": {"model": "models/m", **body}}
        counted = httpx.post(f"{served.url}{path}", json=body).json()
        assert count == counted["input_tokens" if wire == "messages" else "totalTokens"]


def test_the_reasoning_has_a_limit(served: Served) -> None:
    """The model goes on behind the end of it that is written for it."""
    message = post(served, "text", max_reasoning_tokens=5).json()["choices"][0]["message"]
    assert len(message["reasoning_content"]) <= 6
    assert turn_of("text").scenario.reasoning.startswith(message["reasoning_content"].strip())
    assert message["content"]


def test_a_stop_string_everywhere(served: Served) -> None:
    answer = post(served, "a stop string", stop=["greets"], stop_in="everywhere").json()["choices"][0]
    assert (answer["message"]["reasoning_content"], answer["finish_reason"]) == ("The user ", "stop")


def test_a_custom_tool_gets_a_text(served: Served) -> None:
    (call,) = post(served, "a custom call").json()["choices"][0]["message"]["tool_calls"]
    assert call["custom"] == {"name": "edit", "input": INPUT}
    item = post(served, "a custom call", "responses").json()["output"][-1]
    assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "edit", INPUT)
    streamed = post(served, "a custom call", "responses", stream=True)
    deltas = [
        data["delta"]
        for name, data in events_of(streamed.text)
        if name == "response.custom_tool_call_input.delta"
    ]
    assert "".join(deltas) == INPUT


@pytest.fixture(scope="module", params=list(ENGINES))
def recorded(request: Any, stage: Stage, tmp_path_factory: Any) -> Iterator[tuple[Served, Path]]:
    folder = tmp_path_factory.mktemp("records")
    with serving(request.param, stage, record=str(folder)) as served:
        yield served, folder


def test_a_record_is_read_again(recorded: tuple[Served, Path]) -> None:
    served, folder = recorded
    for name in ("text", "two calls", "required"):
        before = set(folder.iterdir())
        post(served, name)
        wait_for(lambda: len(set(folder.glob("*.json")) - before) == 1)  # noqa: B023
        (file,) = set(folder.glob("*.json")) - before
        (again,) = map(replay, load_record(file))
        assert again.differences == {}


def test_a_client_that_leaves_stops_the_engine(served: Served) -> None:
    if served.running is None:
        pytest.skip("it has no slots")
    # Whatever the script has, it writes a letter.
    most = served.model.context_length - 80
    endless = {
        "logit_bias": {"97": 100},
        "ignore_eos": True,
        "max_tokens": most,
        "temperature": 0,
        "stream": True,
    }
    # Of one token, vLLM's build for CPUs dies on some processors.
    body = {"model": "m", "prompt": "x" * 64, **endless}
    with httpx.stream("POST", f"{served.url}/v1/completions", json=body, timeout=30) as answer:
        chunks = answer.iter_bytes()  # without a name, it would close the connection at once
        next(chunks)
        wait_for(lambda: served.running() == 1)  # the count of an engine may be late
    wait_for(lambda: served.running() == 0)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"messages": [{"role": "user", "content": "x" * 9000}]}, "context"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "nothing"}}}}, "nothing"),
    ],
)  # fmt: skip
def test_wrong_requests_have_a_reason(served: Served, fields: dict[str, Any], says: str) -> None:
    body = {**served.stage.book.body(turn_of("text")), **fields}
    answer = httpx.post(f"{served.url}/v1/chat/completions", json=body, timeout=60)
    assert answer.status_code in (400, 422), answer.text
    assert says in answer.json()["error"]["message"]
