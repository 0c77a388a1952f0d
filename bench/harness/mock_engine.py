"""An engine without a model, which repeats one text: each step sends a token to each stream.

It has llama.cpp's /completion and vLLM's /v1/completions, as far as a client with token ids needs them, and the paths
that `unspool serve --engine` requests first. `GET /sent` returns the number of its events so far. `POST /hold` delays
the first token of further answers until `POST /go`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

CONTEXT = 1 << 24


def event(kind: str, token: int, text: str) -> bytes:
    """Return an event as an HTTP chunk."""
    if kind == "vllm":
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": None, "stop_reason": None}
        said: dict[str, Any] = {
            "id": "cmpl-1",
            "object": "text_completion",
            "created": 1_790_000_000,
            "model": "m",
        }
        said["choices"] = [{**choice, "token_ids": [token], "prompt_token_ids": None}]
    else:
        said = {"index": 0, "content": text, "tokens": [token], "stop": False, "id_slot": 0}
        said |= {"tokens_predicted": 1, "tokens_evaluated": 20}
    return chunk(said)


def last_event(kind: str) -> bytes:
    """Return the events after the last token, and the end of the body."""
    if kind == "vllm":
        choice = {"index": 0, "text": "", "finish_reason": "length", "token_ids": []}
        usage = {"prompt_tokens": 20, "completion_tokens": 1}
        return (
            chunk({"choices": [choice]})
            + chunk({"choices": [], "usage": usage})
            + framed(b"data: [DONE]\n\n")
            + b"0\r\n\r\n"
        )
    timings = {"cache_n": 0, "prompt_n": 20}
    said = {"index": 0, "content": "", "tokens": [], "stop": True, "stop_type": "limit", "timings": timings}
    return chunk({**said, "tokens_evaluated": 20, "tokens_predicted": 1}) + b"0\r\n\r\n"


def chunk(said: dict[str, Any]) -> bytes:
    return framed(b"data: " + json.dumps(said, separators=(",", ":")).encode() + b"\n\n")


def framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Engine:
    """The state that all connections share: the events of the text, and the connections that get them.

    Args:
        rate: Steps per second; 0: each answer is sent at once.
    """

    def __init__(self, kind: str, tokens: list[tuple[int, str]], tokenizer: Tokenizer, rate: float) -> None:
        self.kind, self.rate = kind, rate
        self.events = [event(kind, *token) for token in tokens]
        self.end = last_event(kind)
        self.tokenizer = tokenizer
        self.running: dict[Connection, None] = {}
        self.sent = 0
        self.holds = False

    async def run(self) -> None:
        """Run the steps."""
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        while True:
            due_s = max(due_s + 1 / self.rate, loop.time())
            await asyncio.sleep(due_s - loop.time())
            if not self.holds:
                for connection in list(self.running):
                    connection.step()


class Connection(asyncio.Protocol):
    """The connection to a client, which sends a request only after the answer to its previous one."""

    HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    def __init__(self, engine: Engine) -> None:
        self.engine, self.data = engine, b""
        self.place = self.left = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        self.engine.running.pop(self, None)

    def data_received(self, data: bytes) -> None:
        self.data += data
        head, found, body = self.data.partition(b"\r\n\r\n")
        size = next(
            (
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            ),
            0,
        )
        if found and len(body) >= size:
            self.data = body[size:]
            path = head.split(b" ", 2)[1].decode()
            self.answer(path, json.loads(body[:size]) if size else {})

    def answer(self, path: str, body: dict[str, Any]) -> None:
        engine = self.engine
        if path in ("/completion", "/v1/completions"):
            self.left = body.get("n_predict") or body.get("max_tokens") or 16
            self.place = 0
            self.transport.write(self.HEAD)
            engine.running[self] = None
            if engine.rate == 0:
                while self.left:
                    self.step()
            return
        if path in ("/hold", "/go"):
            engine.holds = path == "/hold"
        text = body.get("content", body.get("prompt", ""))
        settings = {"n_ctx": CONTEXT}
        template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
        said = {
            "/props": {
                "default_generation_settings": settings,
                "chat_template": template,
                "total_slots": 1000,
            },
            "/v1/models": {"data": [{"id": "m", "max_model_len": CONTEXT}]},
            "/version": {"version": "0.33.0"},
            "/sent": engine.sent,
            "/tokenize": {"tokens": engine.tokenizer.encode(text, add_special_tokens=False).ids},
        }.get(path, {"status": "ok"})
        data = json.dumps(said).encode()
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (len(data), data)
        )

    def step(self) -> None:
        """Send the next token or the end."""
        engine = self.engine
        self.transport.write(engine.events[self.place % len(engine.events)])
        engine.sent += 1
        self.place += 1
        self.left -= 1
        if self.left == 0:
            self.transport.write(engine.end)
            engine.running.pop(self, None)


async def serve(engine: Engine) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(engine), "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    if engine.rate:
        await engine.run()
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("llamacpp", "vllm"))
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument(
        "folder", type=Path, help="has tokenizer.json, and tokens.json: [id, text] of each token"
    )
    options = parser.parse_args()
    tokens = [
        tuple(pair) for pair in json.loads((options.folder / "tokens.json").read_text(encoding="utf-8"))
    ]
    tokenizer = Tokenizer.from_file(str(options.folder / "tokenizer.json"))
    asyncio.run(serve(Engine(options.kind, tokens, tokenizer, options.rate)))


if __name__ == "__main__":
    main()
