"""Many clients in a separate process, which only read event streams."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any


def request(path: str, body: Any) -> bytes:
    """Return a POST request with a JSON body."""
    data = json.dumps(body).encode()
    return (
        b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
        % (
            path.encode(),
            len(data),
            data,
        )
    )


class Client(asyncio.Protocol):
    """Sends one request on its own connection.

    Attributes:
        first: A future that is done when the first token's event arrives; its result is the time.
    """

    def __init__(self, request: bytes, mark: bytes) -> None:
        self._request, self._mark, self._begun = request, mark, b""
        self.first: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.is_refused = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if self.first.done():
            return
        self._begun += data
        if self._mark in self._begun:
            self.first.set_result(time.perf_counter())

    def connection_lost(self, _: Exception | None) -> None:
        if not self.first.done():
            self.first.set_exception(
                ConnectionError(self._begun[:300].decode("utf-8", "replace") or "closed")
            )


async def open_all(port: int, data: bytes, mark: bytes, count: int) -> list[Client]:
    """Open `count` connections with this request, fifty at a time."""
    loop = asyncio.get_running_loop()
    clients: list[Client] = []
    for begin in range(0, count, 50):
        made = (
            loop.create_connection(lambda: Client(data, mark), "127.0.0.1", port)
            for _ in range(min(50, count - begin))
        )
        clients += [client for _, client in await asyncio.gather(*made)]
    return clients


async def keep_open(port: int, data: bytes, mark: bytes, count: int, waits: bool) -> None:
    clients = await open_all(port, data, mark, count)
    if waits:  # for the first tokens
        await asyncio.gather(*(client.first for client in clients))
    print("open", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    asked = request(given["path"], given["body"])
    asyncio.run(keep_open(given["port"], asked, given["mark"].encode(), given["count"], given["waits"]))
