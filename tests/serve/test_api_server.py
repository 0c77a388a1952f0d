"""A real server on loopback: start, end, TLS, ports, and clients that hang up."""

from __future__ import annotations

import functools
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from unspool import ArgumentError
from unspool.serve import ApiServer, ServeOptions
from unspool.serve.models.demo_model import DemoModels

from .conftest import USER, Script, ScriptedModel, running

CHAT = {"model": "m", "messages": USER}


def say_hi(script: Script) -> None:
    script.put("Hi")


def post(server: ApiServer, body: Any = CHAT) -> httpx.Response:
    return httpx.post(f"http://127.0.0.1:{server.port}/v1/chat/completions", json=body, timeout=30)


def get(server: ApiServer, path: str) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{server.port}{path}", timeout=30)


def names(server: ApiServer) -> list[str]:
    return [entry["id"] for entry in get(server, "/v1/models").json()["data"]]


def test_a_single_model_models_by_name_and_a_factory() -> None:
    model = ScriptedModel(say_hi)
    with running(model) as server:
        assert names(server) == ["model"]
    model.inference_name = "llama-0.5B-20261121"  # type: ignore[attr-defined]
    with running(lambda: model) as server:
        while get(server, "/readiness").status_code == 503:
            time.sleep(0.01)
        assert names(server) == ["llama-0.5B-20261121"]
    with running({"m": model, "o": model}) as server:
        assert names(server) == ["m", "o"]
        assert post(server).json()["choices"][0]["message"]["content"] == "Hi"


@pytest.mark.parametrize(
    ("models", "error"),
    [(None, ArgumentError), ({}, ArgumentError), (5, TypeError), ({"m": 5}, TypeError), ({3: 5}, TypeError)],
)
def test_what_is_no_model(models: Any, error: Any) -> None:
    with pytest.raises(error):
        ApiServer(models)


def test_one_tls_file_of_two_is_an_error() -> None:
    server = ApiServer({"m": ScriptedModel(say_hi)})
    with pytest.raises(ArgumentError, match="ssl_certfile"):
        server.fire(ssl_keyfile="key.pem")
    with pytest.raises(ArgumentError, match="ssl_keyfile"):
        server.fire(ssl_certfile="cert.pem")


def test_an_unknown_log_level_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="log_level is 'loud'; use one of critical, error"):
        ApiServer({"m": ScriptedModel(say_hi)}).fire(log_level="loud")


def test_defaults_as_easydels_users_know_them() -> None:
    import inspect

    parameters = inspect.signature(ApiServer.fire).parameters
    assert parameters["host"].default == "0.0.0.0"
    assert parameters["port"].default == 11556
    assert parameters["metrics_port"].default is None
    assert inspect.signature(ApiServer).parameters["max_workers"].default == 10


def test_https(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("needs openssl")
    with running({"m": ScriptedModel(say_hi)}, ssl_keyfile=str(key), ssl_certfile=str(certificate)) as server:
        context = ssl.create_default_context(cafile=str(certificate))
        answer = httpx.get(f"https://127.0.0.1:{server.port}/readiness", verify=context, timeout=30)
        assert answer.status_code == 200


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port: int = made.getsockname()[1]
        return port


def test_the_metrics_port_is_the_next_one() -> None:
    port = free_port()
    with running({"m": ScriptedModel(say_hi)}, port=port, metrics_port=None) as server:
        post(server)
        text = httpx.get(f"http://127.0.0.1:{port + 1}/metrics", timeout=30).text
        assert "unspool_generation_length_count 1.0" in text
        assert get(server, "/metrics").status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port + 1}/metrics", timeout=5)
    with (
        running({"m": ScriptedModel(say_hi)}, port=port, metrics_port=-1),
        pytest.raises(httpx.ConnectError),
    ):
        httpx.get(f"http://127.0.0.1:{port + 1}/metrics", timeout=5)


def test_not_ready_until_loaded_and_while_stopping() -> None:
    go_on, answered = threading.Event(), threading.Event()

    def load() -> Any:
        go_on.wait(20)
        return {"m": ScriptedModel(lambda script: (answered.wait(20), script.put("Hi"))[1])}

    results: list[Any] = []
    with running(load) as server, httpx.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
        assert client.get("/liveness").json() == {"status": "alive"}
        ready = client.get("/readiness")
        assert (ready.status_code, ready.json()) == (503, {"status": "loading"})
        refused = client.post("/v1/chat/completions", json=CHAT)
        assert refused.status_code == 503
        assert "retry-after" in refused.headers
        assert client.get("/v1/models").status_code == 503
        go_on.set()
        while client.get("/readiness").status_code == 503:
            time.sleep(0.01)
        assert client.get("/readiness").json() == {"status": "ready"}
        asking = threading.Thread(target=lambda: results.append(post(server)))
        asking.start()
        while not server.app.state.server.limits.running_count:
            time.sleep(0.01)
        server.app.state.server.stop()
        ready = client.get("/readiness")
        assert (ready.status_code, ready.json()) == (503, {"status": "stopping"})
        assert client.get("/liveness").status_code == 200
        assert client.post("/v1/chat/completions", json=CHAT).status_code == 503
        answered.set()
        asking.join(20)
    assert results[0].json()["choices"][0]["message"]["content"] == "Hi"


def test_an_answer_under_way_is_ended_well_when_the_server_stops() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def waits(script: Script) -> None:
        script.put("a")
        begun.set()
        go_on.wait(20)
        script.put("b")

    results: list[Any] = []
    with running({"m": ScriptedModel(waits)}) as server:
        asking = threading.Thread(target=lambda: results.append(post(server, {**CHAT, "stream": True})))
        asking.start()
        assert begun.wait(20)
        server.stop()
        time.sleep(0.1)
        go_on.set()
        asking.join(20)
    assert results[0].text.endswith("data: [DONE]\n\n")


def test_a_model_that_cannot_be_loaded_ends_the_server() -> None:
    def load() -> Any:
        raise OSError("no such folder")

    server = ApiServer(load)
    with pytest.raises(OSError, match="no such folder"):
        server.fire("127.0.0.1", 0, log_level="critical")


def test_a_client_that_hangs_up_stops_the_model() -> None:
    model = ScriptedModel(lambda script: [(time.sleep(0.02), script.put("x ")) for _ in range(2000)] and None)
    with running({"m": model}) as server:
        url = f"http://127.0.0.1:{server.port}/v1/chat/completions"
        with httpx.stream("POST", url, json={**CHAT, "stream": True}, timeout=30) as answer:
            for line in answer.iter_lines():
                if "x" in line:
                    break
        deadline_s = time.monotonic() + 10
        while not model.channels[0].is_cancelled and time.monotonic() < deadline_s:
            time.sleep(0.01)
        at_cancel = model.runs[0].put_count
        time.sleep(0.2)
        assert model.runs[0].put_count <= at_cancel + 2
        # And one that waits for a whole body.
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(url, json=CHAT, timeout=0.3)
        while not model.channels[1].is_cancelled and time.monotonic() < deadline_s:
            time.sleep(0.01)
        assert model.channels[1].is_cancelled


def test_tokens_arrive_while_they_are_written() -> None:
    """Each event comes before the next step is made."""
    step = threading.Semaphore(0)

    def writes(script: Script) -> None:
        for number in range(5):
            assert step.acquire(timeout=20)
            script.put(f"{number} ")

    with running({"m": ScriptedModel(writes)}) as server:
        url = f"http://127.0.0.1:{server.port}/v1/chat/completions"
        step.release()
        with httpx.stream("POST", url, json={**CHAT, "stream": True}, timeout=20) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            lines = (
                line for line in answer.iter_lines() if '"content":"' in line and '"content":""' not in line
            )
            for number in range(5):
                assert f'"content":"{number}' in next(lines)
                step.release()


def test_the_command() -> None:
    """`unspool serve --demo`: up, asked, signalled to stop, gone."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "unspool", "serve", "--demo", "--port", str(port), "--api-key", "k"],
        stderr=subprocess.PIPE,
        env=os.environ,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(400):
            try:
                if httpx.get(f"{url}/readiness", timeout=5).status_code == 200:
                    break
            except httpx.TransportError:
                assert process.poll() is None
            time.sleep(0.05)
        assert httpx.get(f"{url}/v1/models", timeout=5).status_code == 401
        answer = httpx.get(f"{url}/v1/models", headers={"x-api-key": "k"}, timeout=5)
        assert {"hermes", "openai"} <= {entry["id"] for entry in answer.json()["data"]}
        process.send_signal(signal.SIGINT)
        assert process.wait(20) in (0, 130, -signal.SIGINT)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("arguments", [[], ["some/model", "--demo"]])
def test_the_command_needs_a_model_or_the_demo(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "unspool", "serve", *arguments], capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert b"--demo" in done.stderr


def test_64_clients_and_liveness() -> None:
    """All streams are whole and right, and /liveness answers all the while."""
    with running(DemoModels(delay_s=0.002), ServeOptions(max_workers=64)) as server:
        base = f"http://127.0.0.1:{server.port}"
        body = {"model": "hermes:three calls, the middle one without arguments", "messages": USER}
        expected = httpx.post(f"{base}/v1/chat/completions", json=body, timeout=30).json()
        wanted = [call["function"] for call in expected["choices"][0]["message"]["tool_calls"]]
        assert len(wanted) == 3
        wrong: list[Any] = []

        def ask() -> None:
            with httpx.Client(base_url=base, timeout=60) as client:
                for _ in range(2):
                    text = client.post("/v1/chat/completions", json={**body, "stream": True}).text
                    found: dict[int, list[str]] = {}
                    from .conftest import events_of

                    for _, data in events_of(text):
                        if data == "[DONE]":
                            continue
                        for call in data["choices"][0]["delta"].get("tool_calls", ()):
                            entry = found.setdefault(call["index"], ["", ""])
                            entry[0] += call["function"].get("name", "")
                            entry[1] += call["function"].get("arguments", "")
                    if [found[i] for i in sorted(found)] != [[w["name"], w["arguments"]] for w in wanted]:
                        wrong.append(text)

        threads = [threading.Thread(target=ask) for _ in range(64)]
        for thread in threads:
            thread.start()
        alive = 0
        while any(thread.is_alive() for thread in threads):
            assert httpx.get(f"{base}/liveness", timeout=20).status_code == 200
            alive += 1
            time.sleep(0.05)
        assert not wrong
        assert alive


def test_pages_of_other_origins(make_client: Any) -> None:
    """A browser's preflight passes where the origin was given leave, without a key; elsewhere it does not."""

    async def ask(**options: Any) -> list[str | None]:
        found = []
        async with make_client(api_keys="secret", **options) as client:
            for origin in ("https://chat.example", "https://other.example"):
                headers = {
                    "Origin": origin,
                    "Access-Control-Request-Method": "POST",
                    "Access-Control-Request-Headers": "authorization,content-type",
                }
                answer = await client.options("/v1/chat/completions", headers=headers)
                found.append(answer.headers.get("access-control-allow-origin"))
        return found

    assert anyio.run(ask) == [None, None]
    leave = functools.partial(ask, allowed_origins="https://chat.example")
    assert anyio.run(leave) == ["https://chat.example", None]
