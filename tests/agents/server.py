"""The app of `unspool serve` around a scripted model, on loopback, and what went over its wire."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from unspool.serve import ApiServer

__all__ = ["Exchange", "serving"]


@dataclass
class Exchange:
    """One request, and what it got."""

    path: str
    body: bytes = b""
    status: int = 0
    ignored: str = ""
    answer: bytes = b""

    @property
    def model(self) -> str:
        """The model that it asks for: Google's API has it in the path."""
        found = re.match(
            rb'POST /v1beta/models/([^:]*):|.*"model": ?"(.*?)"', self.path.encode() + b" " + self.body
        )
        return (found[1] or found[2]).decode() if found else ""

    @property
    def fault(self) -> str:
        """The status and the server's words, if it refused the request; 0 is a client that has left."""
        if self.status < 400:
            return ""
        said = self.answer[:400].decode(errors="replace")
        with contextlib.suppress(ValueError, LookupError):
            said = json.loads(self.answer)["error"]["message"]
        return f"{self.path}: {self.status}: {said}"

    def to_json(self) -> str:
        """A line of a log."""
        answer = self.answer.decode(errors="replace")
        body = json.loads(self.body) if self.body[:1] == b"{" else self.body.decode(errors="replace")
        return json.dumps(
            {
                "path": self.path,
                "status": self.status,
                "ignored": self.ignored,
                "body": body,
                "answer": answer,
            },
            ensure_ascii=False,
        )


class Recorded:
    """Keeps each request to an app, and its answer."""

    def __init__(self, app: ASGIApp, exchanges: list[Exchange]) -> None:
        self._app, self._exchanges = app, exchanges

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = Exchange(f"{scope['method']} {scope['path']}")
        self._exchanges.append(exchange)

        async def received() -> Message:
            message = await receive()
            exchange.body += message.get("body", b"")
            return message

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                headers = {key.lower(): value.decode() for key, value in message["headers"]}
                exchange.ignored = headers.get(b"x-unspool-ignored", "")
            exchange.answer += message.get("body", b"")
            await send(message)

        await self._app(scope, received, sent)


@contextlib.contextmanager
def serving(models: dict[str, Any]) -> Iterator[tuple[str, list[Exchange]]]:
    """A server's address, and what it is asked while it runs."""
    exchanges: list[Exchange] = []
    server = ApiServer(models)
    server.app.add_middleware(Recorded, exchanges=exchanges)
    fire = {"host": "127.0.0.1", "port": 0, "metrics_port": -1, "log_level": "error"}
    thread = threading.Thread(target=server.fire, kwargs=fire, daemon=True)
    thread.start()
    try:
        if not server.wait_until_listening(20):
            raise TimeoutError("the server does not listen")
        yield f"http://127.0.0.1:{server.port}", exchanges
    finally:
        server.stop()
        thread.join(20)
