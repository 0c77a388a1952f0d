"""Turns, queues, and the answer to requests that do not fit."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from unspool import ArgumentError
from unspool.serve import ServeOptions, create_app

from .conftest import USER, Script, ScriptedModel, client_of

pytestmark = pytest.mark.anyio

BODY = {"model": "m", "messages": USER}


async def test_so_many_at_once_so_many_waiting_the_rest_429(make_client: Any) -> None:
    go_on = threading.Event()
    lock = threading.Lock()
    running: list[int] = [0, 0]

    def waits(script: Script) -> None:
        with lock:
            running[0] += 1
            running[1] = max(running)
        go_on.wait(20)
        script.put("x")
        with lock:
            running[0] -= 1

    client = make_client({"m": ScriptedModel(waits)}, max_workers=2, max_queue=3, retry_after_s=7)
    limits = client.app.state.server.limits
    statuses: list[int] = []

    async def ask() -> None:
        statuses.append((await client.post("/v1/chat/completions", json=BODY)).status_code)

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(ask)
        with anyio.fail_after(20):
            while (limits.running_count, limits.waiting_count) != (2, 3):
                await anyio.sleep(0.005)
        metrics = (await client.get("/metrics")).text
        assert "unspool_requests_in_flight 2.0" in metrics
        assert "unspool_queue_size 3.0" in metrics
        for path in ("/v1/chat/completions", "/v1/messages"):
            refused = await client.post(path, json={**BODY, "max_tokens": 5})
            assert refused.status_code == 429
            assert refused.headers["retry-after"] == "7"
            assert refused.json()["error"]["type"] == "rate_limit_error"
        go_on.set()
    assert statuses == [200] * 5
    assert running[1] <= 2
    assert (limits.running_count, limits.waiting_count) == (0, 0)
    metrics = (await client.get("/metrics")).text
    assert 'code="429",endpoint="/v1/messages",model="",status="rejected"} 1.0' in metrics


async def test_a_failure_gives_its_turn_back(make_client: Any) -> None:
    def fails(_: Script) -> None:
        raise RuntimeError("no")

    client = make_client({"m": ScriptedModel(fails)}, max_workers=1, max_queue=0)
    for _ in range(3):
        assert (await client.post("/v1/chat/completions", json=BODY)).status_code == 500


async def test_keys(make_client: Any) -> None:
    client = make_client(
        {"m": ScriptedModel(lambda script: script.put("x"))}, api_keys=["one", "two", "schlüssel"]
    )
    for headers, status in (
        ({}, 401),
        ({"Authorization": "Bearer three"}, 401),
        ({"Authorization": "Basic one"}, 401),
        ({"Authorization": "Bearer \u00e9".encode("latin-1")}, 401),
        ({"Authorization": "Bearer one"}, 200),
        ({"Authorization": "bearer two"}, 200),
        ({"x-api-key": "two"}, 200),
        ({"x-api-key": "two", "Authorization": "Bearer another-services"}, 200),
        ({"x-api-key": "another-services", "Authorization": "Bearer two"}, 200),
        ({"x-api-key": "three", "Authorization": "Bearer four"}, 401),
        ({"x-api-key": "schlüssel".encode()}, 200),
        ({"Authorization": "Bearer schlüssel".encode()}, 200),
    ):
        for path in ("/v1/chat/completions", "/v1/messages"):
            answer = await client.post(path, json={**BODY, "max_tokens": 5}, headers=headers)
            assert answer.status_code == status
            if status == 401:
                assert answer.json()["error"]["type"] == "authentication_error"
    assert (await client.get("/liveness")).status_code == 200
    assert (await client.get("/readiness")).status_code == 200
    assert (await client.get("/metrics")).status_code == 401


async def test_the_pages_files_need_no_key_and_its_endpoints_do(make_client: Any) -> None:
    client = make_client(api_keys=["secret"])
    for path in ("/", "/playground/chat.js", "/playground/formats"):
        assert (await client.get(path)).status_code == 200
    assert (await client.get("/playground/formats")).json()["needs_key"] is True
    body = {"format": "hermes", "text": "a"}
    for headers, status in (({}, 401), ({"Authorization": "Bearer secret"}, 200)):
        assert (await client.post("/playground/run", json=body, headers=headers)).status_code == status
        assert (await client.get("/playground/examples/hermes", headers=headers)).status_code == status


async def test_a_further_route_in_the_pages_place_needs_the_key() -> None:
    route = Route("/", lambda _: PlainTextResponse("own"))
    app = create_app({"m": ScriptedModel(print)}, ServeOptions(api_keys="k"), routes=[route])
    async with client_of(app) as client:
        assert (await client.get("/")).status_code == 401
        assert (await client.get("/", headers={"x-api-key": "k"})).text == "own"
        assert (await client.get("/playground/formats")).status_code == 401


@pytest.mark.parametrize(
    "options",
    [
        {"max_workers": 0}, {"max_queue": -1}, {"keep_alive_s": 0}, {"stream_timeout_s": 0}, {"api_keys": [""]},
    ],
)  # fmt: skip
def test_options_out_of_range(options: Any) -> None:
    with pytest.raises(ArgumentError):
        ServeOptions(**options)
