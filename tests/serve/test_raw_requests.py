"""Requests as bytes, on both of uvicorn's parsers: what the RFCs allow is served, the rest has a status and an end."""

from __future__ import annotations

import concurrent.futures
import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from unspool.serve.http import timed_protocol

from .conftest import USER, ScriptedModel, running

BODY = json.dumps({"model": "m", "messages": USER}).encode()
HOST, KIND = b"Host: localhost\r\n", b"Content-Type: application/json\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
CHAT = b"POST /v1/chat/completions HTTP/1.1\r\n"
LONG = b"a" * 70_000


def post(*headers: bytes, body: bytes = BODY, line: bytes = CHAT, host: bytes = HOST) -> bytes:
    return line + host + KIND + b"".join(headers) + b"\r\n" + body


def get(
    target: bytes, *headers: bytes, host: bytes = HOST, version: bytes = b"1.1", method: bytes = b"GET"
) -> bytes:
    return method + b" " + target + b" HTTP/" + version + b"\r\n" + host + b"".join(headers) + b"\r\n"


# Each with the statuses that may come; 0: none, within the time that the test waits. "!": the connection is closed.
REQUESTS: dict[str, tuple[bytes, str]] = {
    "plain": (post(LENGTH), "200"),
    "chunked": (post(CHUNKED, body=CHUNKS), "200"),
    "chunked, a tab before it": (post(b"Transfer-Encoding:\tchunked\r\n", body=CHUNKS), "200"),
    "an extension of a chunk": (post(CHUNKED, body=CHUNKS.replace(b"\r\n", b";a=b\r\n", 1)), "200"),
    "trailers": (post(CHUNKED, body=CHUNKS[:-2] + b"X: y\r\n\r\n"), "200"),
    "length, then coding": (post(LENGTH, CHUNKED, body=CHUNKS), "400!"),
    "coding, then length": (post(CHUNKED, LENGTH, body=CHUNKS), "400!"),
    "two lengths": (post(LENGTH, b"Content-Length: 3\r\n"), "400!"),
    "one length twice": (post(LENGTH, LENGTH), "200 400"),
    "a list of lengths": (post(LENGTH[:-2] + b", 3\r\n"), "400!"),
    "a negative length": (post(b"Content-Length: -5\r\n"), "400!"),
    "a length with a sign": (post(b"Content-Length: +5\r\n"), "400!"),
    "a length in hexadecimal": (post(b"Content-Length: 0x10\r\n"), "400!"),
    "a length beyond all": (post(b"Content-Length: 99999999999999999999999\r\n"), "400! 413!"),
    "a long body, announced": (post(b"Content-Length: 999999999\r\n"), "413!"),
    "no body": (post(body=b""), "422"),
    "a body that ends early": (post(b"Content-Length: 500\r\n"), "0"),
    "gzip, then chunked": (post(b"Transfer-Encoding: gzip, chunked\r\n", body=CHUNKS), "400! 501!"),
    "identity": (post(b"Transfer-Encoding: identity\r\n", body=CHUNKS), "400! 501!"),
    "nearly chunked": (post(b"Transfer-Encoding: xchunked\r\n", body=CHUNKS), "400! 501!"),
    "a space before the colon": (post(b"Transfer-Encoding : chunked\r\n", body=CHUNKS), "400!"),
    "chunked twice": (post(CHUNKED, CHUNKED, body=CHUNKS), "400! 501!"),
    "chunked in 1.0": (post(CHUNKED, body=CHUNKS, line=CHAT.replace(b"1.1", b"1.0")), "400!"),
    "a chunk without a size": (post(CHUNKED, body=b"zz\r\n" + BODY), "400!"),
    "a chunk of a negative size": (post(CHUNKED, body=b"-5\r\n" + BODY), "400!"),
    "a chunk beyond all": (post(CHUNKED, body=b"ffffffffffffffffff\r\n" + BODY), "0 400!"),
    "an encoded body": (post(LENGTH, b"Content-Encoding: gzip\r\n"), "415"),
    "an encoding that is none": (post(LENGTH, b"Content-Encoding: identity\r\n"), "200"),
    "another type": (post(LENGTH).replace(KIND, b"Content-Type: text/plain\r\n"), "415"),
    "a long type": (post(LENGTH).replace(KIND, b"Content-Type: " + b"a" * 60_000 + b"\r\n"), "415"),
    "not UTF-8": (post(b"Content-Length: 4\r\n", body=b'"\xff\xfe"'), "422"),
    "expect": (post(LENGTH, b"Expect: 100-continue\r\n"), "100 200"),
    "expect another": (post(LENGTH, b"Expect: 200-ok\r\n"), "200 417"),
    "no host": (get(b"/health", host=b""), "400"),
    "an empty host": (get(b"/health", host=b"Host: \r\n"), "400"),
    "two hosts": (get(b"/health", host=HOST + b"Host: evil\r\n"), "400"),
    "a host twice": (get(b"/health", host=HOST + HOST), "400"),
    "a host of two words": (get(b"/health", host=b"Host: a b\r\n"), "400"),
    "a host with a user": (get(b"/health", host=b"Host: x@localhost\r\n"), "400"),
    "another host": (get(b"/health", host=b"Host: evil.example\r\n"), "403"),
    "an IPv6 host": (get(b"/health", host=b"Host: [::1]:80\r\n"), "200"),
    "1.0 without a host": (get(b"/health", host=b"", version=b"1.0"), "400!"),
    "1.0": (get(b"/health", version=b"1.0"), "200!"),
    "a whole URI": (get(b"http://localhost/health"), "200"),
    "a whole URI of another": (get(b"http://evil.example/health"), "200 403"),
    "a long path": (get(b"/" + LONG), "414!"),
    "a long query": (get(b"/health?" + LONG), "414!"),
    "a long method": (get(b"/health", method=LONG), "400! 414!"),
    "a long header": (get(b"/health", b"X: " + LONG + b"\r\n"), "431"),
    "many headers": (get(b"/health", b"X: aaaaaaaaaa\r\n" * 6000), "400! 431 431!"),
    "a NUL in a header": (get(b"/health", b"X: a\0b\r\n"), "400!"),
    "a CR in a header": (get(b"/health", b"X: a\rb\r\n"), "400!"),
    "a folded header": (get(b"/health", b"X: a\r\n b\r\n"), "200 400!"),
    "a space in a header's name": (get(b"/health", b"X y: a\r\n"), "400!"),
    "a header without a name": (get(b"/health", b": a\r\n"), "400!"),
    "line feeds alone": (get(b"/health").replace(b"\r\n", b"\n"), "200 400!"),
    "an empty line first": (b"\r\n" + get(b"/health"), "200 400!"),
    "no method": (get(b"/health", method=b"G@T"), "400!"),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400!"),
    "HTTP/9": (get(b"/health", version=b"9.9"), "200 400! 505!"),
    "HTTP/0.9": (b"GET /health\r\n\r\n", "400!"),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "400!"),
    "all of the server": (get(b"*", method=b"OPTIONS"), "200 204 404 405"),
    "a tunnel": (get(b"localhost:80", method=b"CONNECT"), "400! 404 405"),
    "a trace": (get(b"/health", method=b"TRACE"), "405"),
    "another method": (get(b"/v1/chat/completions", method=b"DELETE"), "405"),
    "a web socket": (
        get(b"/health", b"Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"), "200 403!"),
    "h2c": (get(b"/health", b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n"), "200"),
    "a NUL in the path": (get(b"/%00%ff%2e%2e/health"), "404"),
    "half a percent": (get(b"/%zz"), "404"),
    "out of the root": (get(b"/../../etc/passwd"), "404"),
    "a path in UTF-8": (get("/é".encode()), "400! 404"),
    "a path of two words": (get(b"/a b"), "400!"),
    "a body without a use": (get(b"/health", LENGTH) + BODY, "200"),
    "only the headers": (get(b"/health", method=b"HEAD"), "200"),
    "two at once": (get(b"/health") + get(b"/liveness"), "200 200"),
}  # fmt: skip


@pytest.fixture(scope="module", params=["h11", "httptools"])
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "h11":
        from uvicorn.protocols.http.h11_impl import H11Protocol as Protocol
    else:
        pytest.importorskip("httptools")
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Protocol  # type: ignore[assignment]
    before, timed_protocol._Base = timed_protocol._Base, Protocol  # type: ignore[misc]
    try:
        with running({"m": ScriptedModel(lambda script: script.put("Hi"))}) as made:
            yield made
    finally:
        timed_protocol._Base = before  # type: ignore[misc]


@pytest.fixture(scope="module")
def answers(server: Any) -> dict[str, tuple[bytes, bool]]:
    """What came back, and whether the server has closed the connection."""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        asked = {name: pool.submit(ask, server.port, data) for name, (data, _) in REQUESTS.items()}
    return {name: future.result() for name, future in asked.items()}


def ask(port: int, data: bytes) -> tuple[bytes, bool]:
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        try:
            connection.sendall(data)
            # Then the server waits for a next request.
            connection.settimeout(2)
            while part := connection.recv(65536):
                received += part
        except TimeoutError:
            return received, False
        except ConnectionError:
            pass
    return received, True


@pytest.mark.parametrize("name", REQUESTS)
def test_a_raw_request(answers: dict[str, tuple[bytes, bool]], name: str) -> None:
    received, is_closed = answers[name]
    statuses = re.findall(r"HTTP/1\.1 (\d+)", received.decode("latin-1"))
    allowed = REQUESTS[name][1].split()
    if name in ("expect", "two at once"):
        assert statuses == allowed
        return
    got = (statuses or ["0"])[0] + "!" * is_closed
    assert got in allowed or got.removesuffix("!") in allowed
    assert len(received) < 6000


def test_the_server_still_answers(server: Any, answers: Any) -> None:
    assert answers
    assert ask(server.port, REQUESTS["plain"][0])[0].startswith(b"HTTP/1.1 200")
    state = server.app.state.server
    assert state.limits.running_count == state.preparing.lost_count == 0
