"""An engine that breaks: llama.cpp's shapes over a socket, so that a test decides on each byte and on each silence."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Connection", "FaultyEngine", "running_engine"]

_CONTEXT = 10**9


@dataclass
class Connection:
    """One request for an answer, and how to answer it."""

    body: dict[str, Any]
    writer: asyncio.StreamWriter
    number: int
    count: int = 0

    async def send(self, data: bytes) -> None:
        """Bytes as they are."""
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: str = "200 OK", kind: str = "text/event-stream") -> None:
        """The status and headers of an answer without a length."""
        await self.send(f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode())

    async def put(self, ids: Any, text: str = "") -> None:
        """An event with these ids."""
        self.count += len(ids) if isinstance(ids, list) else 0
        event = {
            "index": 0, "content": text, "tokens": ids, "stop": False, "id_slot": 0,
            "tokens_predicted": self.count, "tokens_evaluated": len(self.body["prompt"]),
        }  # fmt: skip
        await self.send(b"data: " + json.dumps(event).encode() + b"\n\n")

    async def end(self, why: str = "eos") -> None:
        """The last event."""
        prompt = len(self.body["prompt"])
        event = {
            "index": 0, "content": "", "tokens": [], "id_slot": 0, "stop": True, "stop_type": why,
            "tokens_predicted": self.count, "tokens_evaluated": prompt, "tokens_cached": prompt + self.count,
            "timings": {"cache_n": 0, "prompt_n": prompt, "predicted_n": self.count},
        }  # fmt: skip
        await self.send(b"data: " + json.dumps(event).encode() + b"\n\n")

    async def error(self, status: str, body: Any) -> None:
        """An answer with a status of an error."""
        await self.head(status, "application/json")
        await self.send(body if isinstance(body, bytes) else json.dumps(body).encode())

    async def write(self, text: str) -> None:
        """A whole answer, a byte an id."""
        await self.head()
        for byte in text.encode():
            await self.put([byte])
        await self.end()

    def die(self) -> None:
        """Break the connection off: the other side gets a reset."""
        self.writer.transport.abort()


Behaviour = Callable[[Connection], Awaitable[None]]


@dataclass
class FaultyEngine:
    """What it does.

    Attributes:
        behave: What it does with a request for an answer.
        encode: Its tokenizer.
        is_loading: It says 503 to everything.
        connections: Of answers, all of them, in order.
        open: How many of them are open.
    """

    behave: Behaviour
    encode: Callable[[str], list[int]]
    is_loading: bool = False
    connections: list[Connection] = field(default_factory=list)
    open: int = 0
    url: str = ""
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self._writers.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                method, path, _ = head.split(b" ", 2)
                size = next(
                    (
                        int(line.split(b":")[1])
                        for line in head.lower().split(b"\r\n")
                        if line.startswith(b"content-length")
                    ),
                    0,
                )
                body = await reader.readexactly(size)
                if path == b"/completion" and not self.is_loading:
                    await self._answer(json.loads(body), reader, writer)
                    break
                writer.write(self._other(method, path.decode(), body))
        writer.close()
        self._writers.discard(writer)

    def close(self) -> None:
        """What the end of a process does."""
        for writer in self._writers:
            writer.transport.abort()

    async def _answer(
        self, body: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        connection = Connection(body, writer, len(self.connections))
        self.connections.append(connection)
        self.open += 1
        work = asyncio.ensure_future(self.behave(connection))
        # It reads nothing more: what arrives is the end.
        left = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait([work, left], return_when=asyncio.FIRST_COMPLETED)
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await work
        finally:
            left.cancel()
            self.open -= 1

    def _other(self, method: bytes, path: str, body: bytes) -> bytes:
        if path == "/tokenize":
            text = json.loads(body)["content"]
            return _whole("200 OK", {"tokens": self.encode(text)})
        answers: dict[str, Any] = {
            "/health": {"status": "ok"},
            "/props": {
                "default_generation_settings": {"n_ctx": _CONTEXT, "params": {}}, "total_slots": 4, "model_path": "faulty",
                "chat_template": "", "build_info": "b1", "bos_token": "", "eos_token": "<|im_end|>",
            },
            "/v1/models": {"object": "list", "data": [{"id": "faulty", "owned_by": "llamacpp", "meta": {"n_ctx": _CONTEXT}}]},
            "/slots": [],
        }  # fmt: skip
        status, answer = (
            ("200 OK", answers[path]) if path in answers and method == b"GET" else ("404 Not Found", {})
        )
        if self.is_loading:
            status = "503 Service Unavailable"
            answer = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
        return _whole(status, answer)


def _whole(status: str, answer: Any) -> bytes:
    text = json.dumps(answer).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n"
    return head.encode() + text


@contextlib.contextmanager
def running_engine(behave: Behaviour, encode: Callable[[str], list[int]]) -> Iterator[FaultyEngine]:
    """An engine in a thread."""
    engine = FaultyEngine(behave, encode)
    loop = asyncio.new_event_loop()
    started = threading.Event()

    async def start() -> asyncio.Server:
        server = await asyncio.start_server(engine.serve, "127.0.0.1", 0, backlog=2048)
        engine.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        started.set()
        return server

    def run() -> None:
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(start())
        loop.run_forever()
        server.close()
        engine.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert started.wait(20)
    try:
        yield engine
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
