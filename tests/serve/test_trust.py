"""Requests of web pages, half-sent and oversized requests, request ids, and the end of a server."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from typing import Any

import anyio
import httpx
import pytest
from unspool import ArgumentError
from unspool.serve import ServeOptions

from .conftest import USER, Script, ScriptedModel, running

CHAT = {"model": "m", "messages": USER}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": CHAT,
    "/v1/completions": {"model": "m", "prompt": "Hello"},
    "/v1/responses": {"model": "m", "input": "Hello"},
    "/v1/messages": {**CHAT, "max_tokens": 50},
}


def say_hi(script: Script) -> None:
    script.put("Hi")


@pytest.fixture
def client(make_client: Any) -> Any:
    return make_client({"m": ScriptedModel(say_hi)})


@pytest.mark.anyio
@pytest.mark.parametrize(
    "path",
    [*BODIES, "/v1/count_tokens", "/v1/messages/count_tokens", "/tokenize", "/detokenize"],
)
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_only_json_is_read(client: Any, path: str, kind: str) -> None:
    """A page of any site can send the other types without a preflight."""
    answer = await client.post(path, content=json.dumps(CHAT), headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert "Content-Type: application/json" in answer.json()["error"]["message"]


@pytest.mark.anyio
async def test_json_with_a_charset_is_json(client: Any) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    answer = await client.post("/v1/chat/completions", content=json.dumps(CHAT), headers=headers)
    assert answer.status_code == 200


def status_of(server: Any, **headers: str) -> int:
    url = f"http://127.0.0.1:{server.port}/v1/models"
    return httpx.get(url, headers=headers, timeout=30).status_code


def test_a_server_on_loopback_accepts_loopback_names_only() -> None:
    """A page whose name resolves to 127.0.0.1 could read the answers (DNS rebinding)."""
    with running({"m": ScriptedModel(say_hi)}) as server:
        for host in ("127.0.0.1", "localhost", "LOCALHOST:1", "127.0.0.2:80", "[::1]:80", "localhost."):
            assert status_of(server, Host=host) == 200, host
        for host in ("evil.example", "evil.example:11556", "localhost.evil.example", "10.0.0.1", "[::2]"):
            assert status_of(server, Host=host) == 403, host
    options = ServeOptions(allowed_hosts="models.example")
    with running({"m": ScriptedModel(say_hi)}, options) as server:
        assert status_of(server, Host="Models.example:443") == 200
        assert status_of(server, Host="localhost") == 200
        assert status_of(server, Host="evil.example") == 403
    with running({"m": ScriptedModel(say_hi)}, ServeOptions(allowed_hosts="*")) as server:
        assert status_of(server, Host="evil.example") == 200


def test_a_server_on_other_addresses_accepts_every_name() -> None:
    with running({"m": ScriptedModel(say_hi)}, host="0.0.0.0") as server:
        assert status_of(server, Host="models.example") == 200
    with running(
        {"m": ScriptedModel(say_hi)}, ServeOptions(allowed_hosts="a.example"), host="0.0.0.0"
    ) as server:
        assert status_of(server, Host="models.example") == 403
        assert status_of(server, Host="a.example") == 200


@pytest.mark.anyio
async def test_pages_of_other_origins_are_rejected(make_client: Any) -> None:
    for allowed, origin, status in (
        ((), "http://evil.example", 403),
        ((), "null", 403),
        ((), "http://test", 200),
        ((), "http://test:99", 403),
        (("http://chat.example",), "http://chat.example", 200),
        (("http://chat.example",), "http://evil.example", 403),
        (("*",), "http://evil.example", 200),
    ):
        client = make_client({"m": ScriptedModel(say_hi)}, allowed_origins=allowed)
        answer = await client.post("/v1/chat/completions", json=CHAT, headers={"Origin": origin})
        assert answer.status_code == status, (allowed, origin)
        if status == 403:
            assert "--allowed-origin" in answer.json()["error"]["message"]


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("stream", [True, False])
def test_at_the_limit_a_running_answer_ends_with_an_error(
    path: str, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """While it runs, new requests get 503; no traceback is logged."""
    begun, go_on = threading.Event(), threading.Event()

    def waits(script: Script) -> None:
        script.put("Some text")
        begun.set()
        go_on.wait(30)

    results: list[httpx.Response] = []
    with running({"m": ScriptedModel(waits)}, ServeOptions(drain_timeout_s=1.5, flush_ms=0)) as server:
        url = f"http://127.0.0.1:{server.port}{path}"
        body = {**BODIES[path], "stream": stream}
        asking = threading.Thread(target=lambda: results.append(httpx.post(url, json=body, timeout=30)))
        asking.start()
        assert begun.wait(20)
        server.stop()
        refused = httpx.post(url, json=body, timeout=30)  # on a new connection
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) >= 1
        asking.join(20)
        go_on.set()
    (answer,) = results
    assert "cut this answer off" in answer.text
    if stream:
        assert answer.status_code == 200
        assert "Some text" in answer.text
        assert "server_stopping" in answer.text or path == "/v1/messages"
        assert "error" in answer.text.split("\n\n")[-2]
        assert "[DONE]" not in answer.text
    else:
        assert answer.status_code == 503
        assert "retry-after" in answer.headers
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("stream", [True, False])
def test_at_the_limit_a_queued_request_ends_with_an_error(stream: bool) -> None:
    """A stream has had keep-alive comments, so that its error is an event."""
    go_on = threading.Event()
    model = ScriptedModel(lambda script: (go_on.wait(30), script.put("x"))[1])
    results: list[httpx.Response] = []
    options = ServeOptions(max_workers=1, drain_timeout_s=0.5, keep_alive_s=0.05)
    with running({"m": model}, options) as server:
        limits = server.app.state.server.limits
        url = f"http://127.0.0.1:{server.port}/v1/chat/completions"

        def ask(body: Any) -> None:
            results.append(httpx.post(url, json=body, timeout=30))

        threads = [threading.Thread(target=ask, args=[{**CHAT, "stream": stream}]) for _ in range(2)]
        threads[0].start()
        while not model.asked:
            time.sleep(0.01)
        threads[1].start()
        while not limits.waiting_count:
            time.sleep(0.01)
        server.stop()
        for thread in threads:
            thread.join(20)
        go_on.set()
    assert len(results) == 2
    assert len(model.asked) == 1
    for answer in results:
        assert "cut this answer off" in answer.text
        assert answer.status_code == (200 if stream else 503)
        if stream:
            assert answer.text.startswith(": keep-alive") or "chat.completion.chunk" in answer.text


def receive(server: Any, sent: bytes, pause_s: float = 0.0) -> bytes:
    """What comes until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        if pause_s:
            for byte in sent:
                try:
                    connection.sendall(bytes([byte]))
                except OSError:
                    break
                time.sleep(pause_s)
        else:
            connection.sendall(sent)
        received = b""
        while True:
            try:
                part = connection.recv(65536)
            except ConnectionResetError:
                break
            if not part:
                break
            received += part
        return received


HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(
    ("sent", "pause_s", "status"),
    [
        (b"", 0, b"408"),
        (b"GET /health HTT", 0, b"408"),
        (HEAD, 0, b"408"),
        (HEAD + b"X: " + b"x" * 40, 0.02, b"408"),
        (HEAD + b"Content-Length: 10\r\n\r\n{", 0, b"408"),
        (b"GET /liveness HTTP/1.1\r\nHost: localhost\r\n\r\nGET /liv", 0, b"200"),
        (HEAD + b"X: " + b"x" * 100_000, 0, b"4"),
    ],
)
def test_what_is_sent_in_part_does_not_stay(sent: bytes, pause_s: float, status: bytes) -> None:
    options = ServeOptions(read_timeout_s=0.5)
    with running({"m": ScriptedModel(say_hi)}, options) as server:
        begin_s = time.monotonic()
        assert receive(server, sent, pause_s).startswith(b"HTTP/1.1 " + status)
        assert time.monotonic() - begin_s < 15
        assert status_of(server) == 200


@pytest.mark.anyio
async def test_long_headers_are_431(make_client: Any) -> None:
    client = make_client({"m": ScriptedModel(say_hi)}, max_header_bytes=1000)
    answer = await client.get("/v1/models", headers={"X-Long": "x" * 1000})
    assert answer.status_code == 431
    assert "1000 bytes" in answer.json()["error"]["message"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/chat/completions", {"messages": USER * 6}),
        (
            "/v1/chat/completions",
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}] * 5}]},
        ),
        ("/v1/messages", {"messages": USER * 6}),
        ("/v1/responses", {"input": USER * 6}),
        ("/v1/chat/completions", {"tools": [{"type": "function", "function": {"name": "f"}}] * 6}),
    ],
)
async def test_too_many_items_are_413(make_client: Any, path: str, fields: Any) -> None:
    client = make_client({"m": ScriptedModel(say_hi)}, max_items=5)
    answer = await client.post(path, json={**BODIES[path], **fields})
    assert answer.status_code == 413
    (name,) = fields
    assert f"'{name}' has 6 items and parts; at most 5" in answer.json()["error"]["message"]


@pytest.mark.anyio
async def test_token_ids_are_not_counted_as_items(make_client: Any) -> None:
    client = make_client({"m": ScriptedModel(say_hi)}, max_items=5)
    answer = await client.post("/v1/completions", json={"model": "m", "prompt": [1] * 100})
    assert answer.status_code == 200


@pytest.mark.anyio
async def test_a_full_server_answers_before_it_reads_the_body(make_client: Any) -> None:
    go_on = threading.Event()
    model = ScriptedModel(lambda script: (go_on.wait(20), script.put("x"))[1])
    client = make_client({"m": model}, max_workers=1, max_queue=0)

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: client.post("/v1/chat/completions", json=CHAT))
        while not model.asked:
            await anyio.sleep(0.005)
        sent: list[Any] = []
        scope = {
            "type": "http", "method": "POST", "path": "/v1/chat/completions", "raw_path": b"", "query_string": b"",
            "root_path": "", "scheme": "http", "headers": [(b"host", b"test"), (b"content-type", b"application/json")],
            "http_version": "1.1", "client": ("127.0.0.1", 1), "server": ("test", 80),
        }  # fmt: skip

        async def receive_body() -> Any:
            raise AssertionError("the body is read")

        async def send(message: Any) -> None:
            sent.append(message)

        await client.app(scope, receive_body, send)
        assert sent[0]["status"] == 429
        go_on.set()


def test_health_answers_while_a_long_body_is_parsed() -> None:
    """28 MB of 400,000 messages, which are then too many."""
    message = b'{"role":"user","content":"' + b"x" * 34 + b'"},'
    raw = b'{"model":"m","messages":[' + (message * 450_000)[:-1] + b"]}"
    assert len(raw) > 28_000_000
    statuses: list[int] = []
    with running({"m": ScriptedModel(say_hi)}, ServeOptions(max_body_bytes=40_000_000)) as server:
        url = f"http://127.0.0.1:{server.port}"
        headers = {"Content-Type": "application/json"}

        def ask() -> None:
            answer = httpx.post(f"{url}/v1/chat/completions", content=raw, headers=headers, timeout=120)
            statuses.append(answer.status_code)

        asking = threading.Thread(target=ask)
        asking.start()
        longest_s = 0.0
        with httpx.Client(base_url=url, timeout=60) as client:
            while asking.is_alive():
                begin_s = time.perf_counter()
                assert client.get("/health").status_code == 200
                longest_s = max(longest_s, time.perf_counter() - begin_s)
                time.sleep(0.02)
    assert statuses == [413]
    assert longest_s < 5


@pytest.mark.anyio
async def test_request_ids(client: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "unspool.serve")
    for path, body in BODIES.items():
        answer = await client.post(path, json=body, headers={"X-Request-Id": "abc-1.2"})
        assert answer.headers["x-request-id"] == "abc-1.2"
        failed = await client.post(path, json={**body, "model": "none"}, headers={"X-Request-Id": "abc-2"})
        assert failed.json()["request_id"] == failed.headers["x-request-id"] == "abc-2"
        assert f"POST {path} 404" in caplog.text
        assert "request abc-2" in caplog.text
    made = [(await client.get("/v1/models")).headers["x-request-id"] for _ in range(2)]
    assert made[0] != made[1]
    for unfit in ("a b", "x" * 129, 'a"b'):
        answer = await client.get("/v1/models", headers={"X-Request-Id": unfit})
        assert answer.headers["x-request-id"].startswith("req_")
    answer = await client.post("/v1/messages", json=BODIES["/v1/messages"])
    assert answer.headers["request-id"] == answer.headers["x-request-id"]


@pytest.mark.anyio
async def test_a_models_failure_is_logged_with_the_requests_id(
    make_client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_: Script) -> None:
        raise RuntimeError("no")

    client = make_client({"m": ScriptedModel(fails)})
    await client.post("/v1/chat/completions", json=CHAT, headers={"X-Request-Id": "abc-3"})
    assert "request abc-3: the model failed: RuntimeError: no" in caplog.text


def test_one_line_says_that_the_server_is_ready(
    llama: Any, tokenizer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    from unspool import StreamGenerator, __version__

    caplog.set_level(logging.INFO, "unspool.serve")
    made = StreamGenerator(llama, tokenizer, format="hermes")
    with running(lambda: {"tiny": made}, log_level="info") as server:
        while not [r for r in caplog.records if r.getMessage().startswith("ready at")]:
            time.sleep(0.01)
        port = server.port
    lines = [r.getMessage() for r in caplog.records if r.getMessage().startswith("ready at")]
    assert lines == [
        f"ready at http://127.0.0.1:{port}: model tiny, format hermes, device cpu, dtype float32, "
        f"context length 1024; unspool {__version__}"
    ]


@pytest.mark.parametrize(
    "options",
    [{"max_body_bytes": 0}, {"max_items": 0}, {"read_timeout_s": 0}, {"drain_timeout_s": -1}],
)  # fmt: skip
def test_limits_out_of_range(options: Any) -> None:
    with pytest.raises(ArgumentError, match=next(iter(options))):
        ServeOptions(**options)
