"""Streams: order, silence, failure, and clients that leave."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import Any

import anyio
import httpx
import pytest
from unspool.serve import ServeOptions

from .conftest import TOOL, USER, Script, ScriptedModel, events_of, running

pytestmark = pytest.mark.anyio

STREAMS = {
    "/v1/chat/completions": {"model": "m", "messages": USER, "stream": True},
    "/v1/completions": {"model": "m", "prompt": "Hello", "stream": True},
    "/v1/responses": {"model": "m", "input": "Hello", "stream": True},
    "/v1/messages": {"model": "m", "messages": USER, "max_tokens": 50, "stream": True},
}


def fails_late(script: Script) -> None:
    script.put("Some ")
    script.put("text")
    raise RuntimeError("the card has melted")


def fails_at_once(_: Script) -> None:
    raise RuntimeError("the card has melted")


@pytest.mark.parametrize(("path", "body"), STREAMS.items())
async def test_a_failure_after_the_first_byte_is_an_error_event(
    make_client: Any, path: str, body: Any
) -> None:
    client = make_client({"m": ScriptedModel(fails_late)})
    answer = await client.post(path, json=body)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    name, data = events_of(answer.text)[-1]  # nothing after it, no [DONE] either
    assert "the card has melted" in str(data)
    if path == "/v1/messages":
        assert (name, data["type"], data["error"]["type"]) == ("error", "error", "api_error")
    elif path == "/v1/responses":
        assert name in ("response.failed", "error")
    else:
        assert data["error"]["code"] == "model_failed"


@pytest.mark.parametrize(("path", "body"), STREAMS.items())
@pytest.mark.parametrize("stream", [True, False])
async def test_a_failure_before_the_first_byte_has_its_status(
    make_client: Any, path: str, body: Any, stream: bool
) -> None:
    client = make_client({"m": ScriptedModel(fails_at_once)})
    answer = await client.post(path, json={**body, "stream": stream})
    assert answer.status_code == 500
    assert "the card has melted" in answer.json()["error"]["message"]


def exits(script: Script) -> None:
    script.put("Some ")
    raise SystemExit("the card has melted")


@pytest.mark.parametrize(("path", "body"), STREAMS.items())
async def test_a_model_that_exits_does_not_end_the_server(make_client: Any, path: str, body: Any) -> None:
    client = make_client({"m": ScriptedModel(exits)})
    answer = await client.post(path, json={**body, "stream": False})
    assert answer.status_code == 500
    assert "SystemExit: the card has melted" in answer.json()["error"]["message"]
    assert "SystemExit: the card has melted" in (await client.post(path, json=body)).text
    assert (await client.get("/liveness")).status_code == 200


@pytest.mark.parametrize(("path", "body"), STREAMS.items())
@pytest.mark.parametrize(("texts", "status"), [([], 500), (["Some"], 200)])
async def test_a_failures_text_may_be_anything(
    make_client: Any, caplog: Any, path: str, body: Any, texts: list[str], status: int
) -> None:
    """A file's name that is not UTF-8 has halves of surrogate pairs in Python."""
    caplog.set_level(logging.CRITICAL, "unspool.serve")  # pytest-xdist cannot carry them

    def fails(script: Script) -> None:
        for text in texts:
            script.put(text)
        raise FileNotFoundError("no file a\udcff")

    answer = await make_client({"m": ScriptedModel(fails)}).post(path, json=body)
    assert answer.status_code == status
    assert "no file a\\\\udcff" in answer.text


@pytest.mark.parametrize(("path", "body"), STREAMS.items())
@pytest.mark.parametrize("incomplete_calls", ["forward", "withhold"])
def test_the_first_token_sends_the_head(path: str, body: Any, incomplete_calls: Any) -> None:
    """The model makes no second token before the client has the status and the first event."""
    go_on = threading.Event()
    was_seen = []

    def begins_a_call(script: Script) -> None:
        script.put("<tool_call>")  # a marker: it makes no delta
        was_seen.append(go_on.wait(20))
        script.put('\n{"name": "f", "arguments": {}}\n</tool_call>')

    options = ServeOptions(incomplete_calls=incomplete_calls, keep_alive_s=60)
    with (
        running({"m": ScriptedModel(begins_a_call)}, options) as server,
        httpx.stream("POST", f"http://127.0.0.1:{server.port}{path}", json=body, timeout=30) as answer,
    ):
        assert answer.status_code == 200
        texts = answer.iter_text()
        first = "" if path == "/v1/completions" else next(texts)
        go_on.set()
        events = events_of(first + "".join(texts))
    assert was_seen == [True]
    if first:
        assert events_of(first) == events[: len(events_of(first))]
    name, data = events[0]
    if path == "/v1/chat/completions":
        assert data["choices"][0]["delta"]["role"] == "assistant"
    elif path != "/v1/completions":  # its first event has text
        assert name in ("response.created", "message_start")


async def test_silence_is_filled_with_comments(make_client: Any) -> None:
    go_on = threading.Event()

    def waits(script: Script) -> None:
        script.put("a")
        go_on.wait(20)
        script.put("b")

    client = make_client({"m": ScriptedModel(waits)}, keep_alive_s=0.02)
    timer = threading.Timer(1, go_on.set)
    timer.start()
    answer = await client.post("/v1/chat/completions", json=STREAMS["/v1/chat/completions"])
    comments = [line for line in answer.text.split("\n") if line.startswith(":")]
    assert len(comments) >= 3
    texts = [d["choices"][0]["delta"].get("content") for _, d in events_of(answer.text)[:-1]]
    assert "".join(text or "" for text in texts) == "ab"


async def test_silence_before_the_first_token_too(make_client: Any) -> None:
    go_on = threading.Event()

    def waits(script: Script) -> None:
        go_on.wait(20)
        script.put("b")

    client = make_client({"m": ScriptedModel(waits)}, keep_alive_s=0.02)
    timer = threading.Timer(1, go_on.set)
    timer.start()
    answer = await client.post("/v1/messages", json=STREAMS["/v1/messages"])
    events = [name for name, _ in events_of(answer.text)]
    assert events[0] == "message_start"
    assert "ping" in events
    assert events[-1] == "message_stop"


@pytest.mark.parametrize(("path", "body"), STREAMS.items())
async def test_silence_in_the_queue_too(make_client: Any, path: str, body: Any) -> None:
    go_on = threading.Event()

    def waits(script: Script) -> None:
        go_on.wait(20)
        script.put("b")

    model = ScriptedModel(waits)
    models = {"m": model, "fails": ScriptedModel(fails_at_once)}
    client = make_client(models, max_workers=1, keep_alive_s=0.02)
    answers = {}

    async def ask(name: str, **fields: Any) -> None:
        answers[name] = await client.post(path, json={**body, **fields})

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: ask("first"))
        while not model.asked:
            await anyio.sleep(0.005)
        group.start_soon(lambda: ask("second"))
        group.start_soon(lambda: ask("failed", model="fails"))
        group.start_soon(lambda: ask("whole", stream=False))
        await anyio.sleep(0.6)
        go_on.set()
    for name in ("second", "failed"):
        assert answers[name].status_code == 200
        assert answers[name].text.startswith(": keep-alive\n\n: keep-alive\n\n")
    first, second = ([kind for kind, _ in events_of(answers[name].text)] for name in ("first", "second"))
    assert [kind for kind in second if kind != "ping"] == [kind for kind in first if kind != "ping"]
    failed = events_of(answers["failed"].text)
    assert "the card has melted" in str(failed[-1])
    assert "[DONE]" not in answers["failed"].text
    assert answers["whole"].status_code == 200
    assert answers["whole"].json()
    state = client.app.state.server
    assert (state.limits.running_count, state.limits.waiting_count) == (0, 0)
    assert 'model="fails",status="error"' in (await client.get("/metrics")).text


async def test_a_client_of_a_stream_leaves_the_queue(make_client: Any) -> None:
    go_on = threading.Event()
    model = ScriptedModel(lambda script: (go_on.wait(20), script.put("x"))[1])
    client = make_client({"m": model}, max_workers=1, keep_alive_s=0.02)
    body = {"model": "m", "messages": USER, "stream": True}
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: client.post("/v1/chat/completions", json=body))
        while not model.asked:
            await anyio.sleep(0.005)
        limits = client.app.state.server.limits
        await leave(client.app, "/v1/chat/completions", body, lambda sent: len(sent) > 3)
        assert limits.waiting_count == 0
        go_on.set()
    assert len(model.asked) == 1


async def test_a_stuck_model_is_given_up(make_client: Any) -> None:
    go_on = threading.Event()
    client = make_client({"m": ScriptedModel(lambda _: go_on.wait(20) and None)}, stream_timeout_s=0.1)
    answer = await client.post("/v1/chat/completions", json={"model": "m", "messages": USER})
    go_on.set()
    assert answer.status_code == 504
    assert answer.json()["error"]["code"] == "model_timeout"


async def leave(app: Any, path: str, body: Any, is_time: Any) -> list[Any]:
    """A request whose client leaves when `is_time()`; what it had got."""
    import json

    sent: list[Any] = []
    raw = json.dumps(body).encode()
    messages = [{"type": "http.request", "body": raw, "more_body": False}]

    async def receive() -> Any:
        if messages:
            return messages.pop()
        while not is_time(sent):
            await anyio.sleep(0.005)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1",
        "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
        "scheme": "http", "headers": [(b"host", b"test"), (b"content-type", b"application/json")], "client": ("127.0.0.1", 1), "server": ("test", 80),
    }  # fmt: skip
    with anyio.fail_after(20):
        await app(scope, receive, send)
    return sent


@pytest.mark.parametrize(("path", "body"), STREAMS.items())
@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_stops_its_model(
    make_client: Any, path: str, body: Any, stream: bool
) -> None:
    """Within two steps, whether it waits for events or for a body."""
    step = threading.Semaphore(0)

    def endless(script: Script) -> None:
        for number in range(10_000):
            step.acquire(timeout=20)
            script.put(f"{number} ")

    model = ScriptedModel(endless)
    client = make_client({"m": model})
    step.release(3)

    def is_time(sent: list[Any]) -> bool:
        return bool(model.runs) and model.runs[0].put_count >= 3 and (not stream or len(sent) > 1)

    await leave(client.app, path, {**body, "stream": stream}, is_time)
    with anyio.fail_after(20):
        while not model.channels[0].is_cancelled:  # the thread that began the stream may do it
            await anyio.sleep(0.005)
    step.release(100)
    with anyio.fail_after(20):
        while any(thread.name == "unspool-generate" for thread in threading.enumerate()):
            await anyio.sleep(0.01)
    assert model.runs[0].put_count <= 5
    metrics = (await client.get("/metrics")).text
    assert 'status="cancelled"' in metrics
    assert "unspool_requests_in_flight 0.0" in metrics


async def test_a_client_that_leaves_the_queue(make_client: Any) -> None:
    go_on = threading.Event()
    model = ScriptedModel(lambda script: (go_on.wait(20), script.put("x"))[1])
    client = make_client({"m": model}, max_workers=1)
    body = {"model": "m", "messages": USER}
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: client.post("/v1/chat/completions", json=body))
        while not model.asked:
            await anyio.sleep(0.005)
        limits = client.app.state.server.limits
        await leave(client.app, "/v1/chat/completions", body, lambda _: limits.waiting_count == 1)
        assert limits.waiting_count == 0
        go_on.set()
    assert len(model.asked) == 1


async def test_the_event_loop_is_never_held_up(make_client: Any) -> None:
    """/liveness answers while a model renders its prompt, and while it is in a step."""
    begun = threading.Semaphore(0)
    alive = threading.Semaphore(0)
    answered: list[bool] = []

    def wait_for_liveness() -> None:
        begun.release()
        answered.append(alive.acquire(timeout=20))

    class SlowModel(ScriptedModel):
        def stream(self, prompt: Any, **options: Any) -> Any:
            wait_for_liveness()
            return super().stream(prompt, **options)

    client = make_client({"m": SlowModel(lambda script: (wait_for_liveness(), script.put("x"))[1])})
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: client.post("/v1/chat/completions", json={"model": "m", "messages": USER}))
        for _ in range(2):
            while not begun.acquire(blocking=False):
                await anyio.sleep(0.005)
            assert (await client.get("/liveness")).status_code == 200
            alive.release()
    assert answered == [True, True]


async def test_ready_deltas_share_a_chunk(make_client: Any) -> None:
    """What came while the loop was busy is one chunk, not one for each token."""
    client = make_client(
        {"m": ScriptedModel(lambda script: [script.put("x ") for _ in range(2000)] and None)}
    )
    answer = await client.post("/v1/chat/completions", json=STREAMS["/v1/chat/completions"])
    events = events_of(answer.text)[:-1]
    assert "".join(d["choices"][0]["delta"].get("content") or "" for _, d in events) == "x " * 2000
    assert len(events) < 1000


async def test_shapes_of_a_chat_stream(make_client: Any) -> None:
    """One id, the role first and once, one finish reason, usage after it, [DONE] last."""

    def calls(script: Script) -> None:
        for piece in (
            "Hm. ",
            "<tool_call>",
            '{"name": "look_up", ',
            '"arguments": {"word": "a"}}',
            "</tool_call>",
        ):
            script.put(piece)

    client = make_client({"m": ScriptedModel(calls)})
    body = {**STREAMS["/v1/chat/completions"], "tools": [TOOL], "stream_options": {"include_usage": True}}
    answer = await client.post("/v1/chat/completions", json=body)
    events = [data for _, data in events_of(answer.text)]
    assert events.pop() == "[DONE]"
    usage = events.pop()
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 5
    assert usage["usage"]["prompt_tokens"] == 3
    assert {event["id"] for event in events} == {usage["id"]}
    deltas = [event["choices"][0]["delta"] for event in events]
    assert [d.get("role") for d in deltas] == ["assistant", *[None] * (len(deltas) - 1)]
    reasons = [event["choices"][0]["finish_reason"] for event in events]
    assert reasons == [*[None] * (len(events) - 1), "tool_calls"]
    plain = await client.post("/v1/chat/completions", json={**body, "stream_options": None})
    assert "usage" not in plain.text


OPTIONS: Any = {"tools": None, "timeout": None}


async def test_ready_and_drain_give_what_iterating_gives() -> None:
    def writes(script: Script) -> None:
        for number in range(50):
            script.put(f"{number} ")

    stream = ScriptedModel(writes).stream("x", **OPTIONS)
    drained = []
    while await stream.ready():
        drained += stream.drain()
    iterated = list(ScriptedModel(writes).stream("x", **OPTIONS))
    assert [(d.kind, d.text, d.token_span) for d in drained] == [
        (d.kind, d.text, d.token_span) for d in iterated
    ]
    assert not await stream.ready()
    assert stream.drain() == []


async def test_ready_ends_once_at_the_first_token() -> None:
    go_on = threading.Event()

    def begins(script: Script) -> None:
        script.put("<tool_c")  # perhaps a marker
        go_on.wait(20)

    stream = ScriptedModel(begins).stream("x", **OPTIONS)
    assert await stream.ready()
    assert not stream.has_deltas
    again = asyncio.ensure_future(stream.ready())
    await asyncio.sleep(0.02)
    assert not again.done()
    go_on.set()
    assert await again
    assert stream.has_deltas


async def test_ready_raises_what_the_model_raised_after_its_deltas() -> None:
    stream = ScriptedModel(fails_late).stream("x", **OPTIONS)
    texts = []
    with pytest.raises(RuntimeError, match="melted"):
        while await stream.ready():
            texts += [delta.text for delta in stream.drain()]
    assert "".join(texts) == "Some text"


async def test_ready_ends_when_the_stream_is_cancelled_or_times_out() -> None:
    from unspool import StreamTimeout, WireWriter

    go_on = threading.Event()
    waiting = ScriptedModel(lambda _: go_on.wait(20) and None)
    stream = waiting.stream("x", **OPTIONS)
    async with anyio.create_task_group() as group:

        async def cancel() -> None:
            await anyio.sleep(0.05)
            stream.cancel()

        group.start_soon(cancel)
        assert not await stream.ready()
    assert stream.drain_to(WireWriter("chat_completions", model="m")) == b""
    slow = waiting.stream("x", tools=None, timeout=0.05)
    with pytest.raises(StreamTimeout):
        await slow.ready()
    go_on.set()


async def test_gathered_deltas_are_the_same_text(make_client: Any) -> None:
    """With flush_ms: fewer chunks, the first of them at once, the same content."""

    def say(script: Script) -> None:
        for number in range(40):
            script.put("word ")
            time.sleep(0.01 if number else 0.5)  # the first is read before the second comes

    path, counts = "/v1/chat/completions", []
    for flush_ms in (0.0, 200.0):
        async with make_client({"m": ScriptedModel(say)}, flush_ms=flush_ms) as client:
            answer = await client.post(path, json=STREAMS[path])
        deltas = [data["choices"][0]["delta"] for _, data in events_of(answer.text) if data != "[DONE]"]
        texts = [delta["content"] for delta in deltas if delta.get("content")]
        assert "".join(texts) == "word " * 40
        assert texts[0] == "word "
        counts.append(len(texts))
    assert counts[1] < 20  # 5 on a quiet machine
    assert counts[1] < counts[0]
