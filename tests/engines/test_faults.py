"""Engines that break, each in its way: what the client has is right, and an error says so where it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tokenizers import Tokenizer
from unspool.serve import ServeOptions

from ..serve.conftest import events_of, running
from .faulty_engine import Behaviour, Connection, FaultyEngine, running_engine
from .llama_cpp_server import running_llama_cpp
from .scripted import FORMAT, VOCABULARY, Stage
from .suite import TEMPLATE

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
TEXT = "Hello, Zürich 🏔!"
PATHS = {
    "/v1/chat/completions": BODY,
    "/v1/messages": BODY,
    "/v1/responses": {"model": "m", "input": "Hi"},
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokenizer's."""
    found = tmp_path_factory.mktemp("tokenizer")
    VOCABULARY.write_tokenizer(found, TEMPLATE)
    return found


def engine_of(folder: Path, behave: Behaviour) -> AbstractContextManager[FaultyEngine]:
    """An engine with the folder's tokenizer."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return running_engine(behave, lambda text: list(tokenizer.encode(text).ids))


@contextlib.contextmanager
def in_front(
    folder: Path, *engines: Behaviour | FaultyEngine, **options: Any
) -> Iterator[tuple[str, list[FaultyEngine]]]:
    """Our server in front of engines of one model."""
    from unspool.serve.engines import connect

    with contextlib.ExitStack() as stack:
        found = [
            engine if isinstance(engine, FaultyEngine) else stack.enter_context(engine_of(folder, engine))
            for engine in engines
        ]
        urls = [engine.url for engine in found]
        model = connect(
            urls[0] if len(urls) == 1 else urls, kind="llamacpp", tokenizer=str(folder), format=FORMAT
        )
        server = stack.enter_context(running({"m": model}, ServeOptions(**options)))
        yield f"http://127.0.0.1:{server.port}", found


def ask(url: str, path: str = "/v1/chat/completions", **fields: Any) -> httpx.Response:
    return httpx.post(f"{url}{path}", json={**PATHS[path], **fields}, timeout=30)


def content_of(answer: httpx.Response) -> str:
    """What the chat's answer says, whole or streamed."""
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return str(answer.json()["choices"][0]["message"]["content"])
    deltas = [event["choices"][0]["delta"] for _, event in events_of(answer.text) if "choices" in event]
    return "".join(delta.get("content") or "" for delta in deltas)


async def writes(connection: Connection) -> None:
    await connection.write(TEXT)


async def dies_at_once(connection: Connection) -> None:
    connection.die()


async def dies_after_the_head(connection: Connection) -> None:
    await connection.head()
    connection.die()


def once(fault: Behaviour) -> Behaviour:
    """The first request has the fault, and others an answer."""

    async def behave(connection: Connection) -> None:
        await (fault if connection.number == 0 else writes)(connection)

    return behave


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", [dies_at_once, dies_after_the_head])
def test_an_engine_that_dies_before_the_first_token_is_asked_again(
    folder: Path, fault: Behaviour, stream: bool
) -> None:
    with in_front(folder, once(fault)) as (url, (engine,)):
        answer = ask(url, stream=stream)
    assert (answer.status_code, len(engine.connections)) == (200, 2)
    assert content_of(answer) == TEXT


@pytest.mark.parametrize("fault", [dies_at_once, dies_after_the_head])
def test_another_replica_answers(folder: Path, fault: Behaviour) -> None:
    with in_front(folder, fault, writes) as (url, engines):
        assert content_of(ask(url)) == TEXT
    assert len(engines[1].connections) == 1


def test_an_engine_that_goes_is_no_fault_of_the_client(folder: Path) -> None:
    with contextlib.ExitStack() as stays, contextlib.ExitStack() as goes:
        first, second = (stack.enter_context(engine_of(folder, writes)) for stack in (goes, stays))
        with in_front(folder, first, second) as (url, _):
            goes.close()
            assert {content_of(ask(url)) for _ in range(4)} == {TEXT}
            stays.close()
            answer = ask(url)
            assert answer.status_code in (502, 503)
            assert "does not answer" in answer.json()["error"]["message"]
            wait_for(lambda: httpx.get(f"{url}/readiness").status_code == 503)


@pytest.mark.parametrize("path", PATHS)
def test_an_engine_that_dies_in_an_answer_is_an_error_event(folder: Path, path: str) -> None:
    async def dies(connection: Connection) -> None:
        await connection.head()
        for byte in b"Some ":
            await connection.put([byte])
        await asyncio.sleep(0.2)
        connection.die()

    with in_front(folder, dies) as (url, (engine,)):
        answer = ask(url, path, stream=True)
        assert len(engine.connections) == 1, "what has begun is not begun again"
        name, last = events_of(answer.text)[-1]
        assert "error" in json.dumps(last)
        if path == "/v1/chat/completions":
            assert content_of(answer) == "Some "
        assert "[DONE]" not in answer.text
        if path == "/v1/messages":
            assert name == "error"
        assert ask(url, path).status_code == 502


async def half_an_event(connection: Connection) -> None:
    await connection.head()
    await connection.put([72])
    await connection.send(b'data: {"index":0,"content":"e","tok')


async def half_a_character(connection: Connection) -> None:
    await connection.head()
    await connection.put([*"é".encode()][:1])
    await connection.end()


async def no_json(connection: Connection) -> None:
    await connection.head()
    await connection.put([72])
    await connection.send(b"data: {nonsense}\n\n")


async def no_utf_8(connection: Connection) -> None:
    await connection.head()
    await connection.put([72])
    await connection.send(b'data: {"content": "\xff", "tokens": [72]}\n\n')


async def an_error_event(connection: Connection) -> None:
    await connection.head()
    await connection.put([72])
    await connection.send(
        b'data: {"error": {"code": 500, "message": "the slot is gone", "type": "server_error"}}\n\n'
    )


async def no_end(connection: Connection) -> None:
    await connection.head()
    await connection.put([72])


async def an_endless_line(connection: Connection) -> None:
    await connection.head()
    await connection.put([72])
    await connection.send(b"data: ")
    while True:
        await connection.send(b"x" * 65536)


def ids(*wrong: Any) -> Behaviour:
    async def behave(connection: Connection) -> None:
        await connection.head()
        await connection.put([72])
        await connection.put(wrong[0] if wrong and not isinstance(wrong[0], int) else list(wrong))
        await connection.end()

    return behave


BROKEN: dict[str, Behaviour] = {
    "half an event": half_an_event,
    "no JSON": no_json,
    "no UTF-8": no_utf_8,
    "an error event": an_error_event,
    "no end": no_end,
    "an endless line": an_endless_line,
    "an id beyond 64 bits": ids(10**30),
    "a negative id": ids(-1),
    "a text as an id": ids(["72"]),
    "a fraction as an id": ids([72.5]),
    "ids that are no list": ids("72"),
    "ids that are an object": ids({"72": 72}),
}


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_breaks_is_an_error_and_never_a_text(folder: Path, fault: str, stream: bool) -> None:
    with in_front(folder, BROKEN[fault]) as (url, (engine,)):
        answer = ask(url, stream=stream)
        if stream and answer.status_code == 200:
            assert "error" in events_of(answer.text)[-1][1]
            assert content_of(answer) in ("", "H")
        else:
            assert answer.status_code == 502, answer.text
        assert_closed(engine)
        # The next request has an engine that is whole.
        engine.behave = writes
        assert content_of(ask(url)) == TEXT


def assert_closed(engine: FaultyEngine) -> None:
    wait_for(lambda: engine.open == 0)


def wait_for(holds: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_an_id_beyond_the_vocabulary_has_no_text(folder: Path) -> None:
    """Models have more rows than their tokenizers have tokens."""
    with in_front(folder, ids(10**6)) as (url, _):
        assert content_of(ask(url)) == "H"


def test_a_character_that_is_never_whole_is_shown_as_such(folder: Path) -> None:
    with in_front(folder, half_a_character) as (url, _):
        assert content_of(ask(url)) == "�"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "body", "ours", "words"),
    [
        ("400 Bad Request", {"error": {"code": 400, "message": "failed to parse grammar", "type": "invalid_request_error"}}, 400, "failed to parse grammar"),
        ("400 Bad Request", {"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error"}}, 400, "context size"),
        ("422 Unprocessable", {"detail": "no such field"}, 422, "no such field"),
        ("401 Unauthorized", {"error": {"message": "Invalid API Key"}}, 502, ""),
        ("429 Too Many", {"error": {"message": "busy"}}, 429, "busy"),
        ("500 Internal", {"error": {"code": 500, "message": "compute error", "type": "server_error"}}, 502, "compute error"),
        ("503 Unavailable", {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, 503, "Loading model"),
        ("400 Bad Request", b"<html>no</html>", 400, "no"),
        ("500 Internal", b"\xff\xfe" + b"x" * 100_000, 502, ""),
        ("200 OK", b'{"content": "no stream"}', 502, ""),
    ],
)  # fmt: skip
def test_the_engines_own_errors_come_through_with_their_reason(
    folder: Path, status: str, body: Any, ours: int, words: str, stream: bool
) -> None:
    async def refuses(connection: Connection) -> None:
        await connection.error(status, body)

    with in_front(folder, refuses) as (url, _):
        answer = ask(url, stream=stream)
    assert answer.status_code == ours, answer.text
    assert words in answer.json()["error"]["message"]
    assert len(answer.text) < 5000


def test_readiness_follows_the_engine(folder: Path) -> None:
    with in_front(folder, writes) as (url, (engine,)):
        assert httpx.get(f"{url}/readiness").status_code == 200
        engine.is_loading = True
        wait_for(lambda: httpx.get(f"{url}/readiness").status_code == 503)
        assert httpx.get(f"{url}/liveness").status_code == 200
        assert ask(url).status_code == 503
        engine.is_loading = False
        wait_for(lambda: httpx.get(f"{url}/readiness").status_code == 200)
        assert content_of(ask(url)) == TEXT


async def stalls(connection: Connection) -> None:
    await connection.head()
    await connection.put([72])
    await asyncio.Event().wait()


async def never_answers(_: Connection) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("fault", [stalls, never_answers])
def test_an_engine_that_stalls_has_a_deadline(folder: Path, fault: Behaviour) -> None:
    with in_front(folder, fault, stream_timeout_s=0.5) as (url, (engine,)):
        answer = ask(url, stream=True)
        if answer.status_code == 200:
            assert "error" in events_of(answer.text)[-1][1]
        else:
            assert answer.status_code in (502, 504)
        assert_closed(engine)


@pytest.mark.parametrize("fault", [stalls, never_answers])
def test_a_client_that_leaves_closes_the_engines_connection(folder: Path, fault: Behaviour) -> None:
    with in_front(folder, fault) as (url, (engine,)):
        with (
            contextlib.suppress(httpx.TimeoutException),
            httpx.stream(
                "POST", f"{url}/v1/chat/completions", json={**BODY, "stream": True}, timeout=1
            ) as answer,
        ):
            next(answer.iter_bytes())
        assert_closed(engine)


def test_a_slow_client_slows_the_engine(folder: Path) -> None:
    """What it does not read fills our buffers, then the connection's, and the engine's writes wait."""
    sent = 0
    long = VOCABULARY.tokens.index("</tool_response>")

    async def floods(connection: Connection) -> None:
        nonlocal sent
        await connection.head()
        while True:
            await connection.put([long] * 64)
            sent += 1

    with in_front(folder, floods) as (url, (engine,)):
        with httpx.stream(
            "POST",
            f"{url}/v1/chat/completions",
            json={**BODY, "max_tokens": 10**8, "stream": True},
            timeout=30,
        ) as answer:
            chunks = answer.iter_raw(1024)
            next(chunks)
            before = -1
            while before != sent:
                before = sent
                time.sleep(1)
            while sent == before:
                next(chunks)
        assert_closed(engine)


def test_a_thousand_streams_at_once(folder: Path) -> None:
    begun = 0
    go_on = asyncio.Event()

    async def waits(connection: Connection) -> None:
        nonlocal begun
        begun += 1
        await connection.head()
        await connection.put([72])
        while not go_on.is_set():
            await asyncio.sleep(0.05)
        for byte in b"ello!":
            await connection.put([byte])
        await connection.end()

    async def ask_all(url: str) -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=1000)
        async with httpx.AsyncClient(timeout=120, limits=limits) as client:
            requests = [
                asyncio.ensure_future(
                    client.post(f"{url}/v1/chat/completions", json={**BODY, "stream": True})
                )
                for _ in range(1000)
            ]
            while begun < 1000:
                await asyncio.sleep(0.05)
            go_on.set()
            return await asyncio.gather(*requests)

    with in_front(folder, waits, max_workers=1000) as (url, (engine,)):
        answers = asyncio.run(ask_all(url))
        assert {content_of(answer) for answer in answers} == {"Hello!"}
        assert_closed(engine)


def test_llama_cpp_that_is_killed_and_started_again(stage: Stage) -> None:
    """The real one."""
    from unspool.serve.engines import connect

    with running_llama_cpp(stage.gguf) as native:
        model = connect(native.url, tokenizer=str(stage.folder), format=FORMAT)
        with running({"m": model}) as server:
            url = f"http://127.0.0.1:{server.port}"
            assert ask(url).status_code == 200
            native.kill()
            assert ask(url).status_code in (502, 503)
            wait_for(lambda: httpx.get(f"{url}/readiness").status_code == 503)
