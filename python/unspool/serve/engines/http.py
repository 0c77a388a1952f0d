"""The HTTP connection to an engine: JSON and server-sent events."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import http.client
import json
import urllib.error
import urllib.request
import weakref
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Protocol, TypeVar

import aiohttp
import msgspec

from unspool.errors import ArgumentError, EngineError
from unspool.generation.telemetry import sent_to

__all__ = ["EngineHttp"]

_CONNECT_S = 5.0
_ASK_S = 30.0
# Maximum size of an event or of an error's body.
_MOST_EVENT_BYTES = 8 * 1024 * 1024
_MOST_ERROR_BYTES = 64 * 1024
_MOST_REASON = 600

# Statuses after which another engine, or the same one later, may answer the request.
_RETRYABLE = frozenset({429, 502, 503, 504})
# Statuses that the client can fix; 401, 403 and 404 are for the operator.
_OF_THE_REQUEST = frozenset({400, 413, 422, 429})

_DONE = b"data: [DONE]"

# Ignores the environment's proxies, as aiohttp does: an engine is near.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class _HasError(Protocol):
    error: Any


T = TypeVar("T", bound=_HasError)


class EngineHttp:
    """An engine's address.

    Args:
        url: The URL, such as "http://127.0.0.1:8000"; a "/v1" at its end is removed.
        api_key: Sent as a bearer token.

    Raises:
        ArgumentError: It is not an HTTP URL.
    """

    def __init__(self, url: str, api_key: str | None = None) -> None:
        self.url = url.rstrip("/").removesuffix("/v1")
        scheme, _, rest = self.url.partition("://")
        if scheme not in ("http", "https") or not rest:
            raise ArgumentError(f"'{url}' is no engine's URL; write it as http://127.0.0.1:8000")
        self._headers = {"Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._sessions: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = (
            weakref.WeakKeyDictionary()
        )

    def ask(self, path: str, body: Any = None) -> Any:
        """Return the JSON of a response. Blocks; for use in a thread.

        Raises:
            EngineError: The engine does not answer, or its answer is not JSON.
        """
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, self._headers)
        try:
            with _opener.open(request, timeout=_ASK_S) as response:
                return json.loads(response.read(_MOST_EVENT_BYTES))
        except urllib.error.HTTPError as error:
            raise self._refused(error.code, error.read(_MOST_ERROR_BYTES)) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from None
        except (ValueError, RecursionError) as error:
            raise EngineError(f"the engine at {self.url}{path} answers with no JSON: {error}") from None

    async def get(self, path: str) -> None:
        """Raise EngineError unless the engine answers with success."""
        try:
            timeout = aiohttp.ClientTimeout(total=_ASK_S, sock_connect=_CONNECT_S)
            async with self._session().get(self.url + path, timeout=timeout) as response:
                if response.status >= 400:
                    raise self._refused(response.status, await response.content.read(_MOST_ERROR_BYTES))
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
            raise self._unreachable(error) from None

    async def events(
        self, path: str, body: Any, decoder: msgspec.json.Decoder[T], headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[T, None]:
        """Yield the decoded server-sent events of an answer.

        Closing the generator closes the connection, so that the engine stops.

        Args:
            body: The request's body; sent as JSON.
            decoder: The decoder of an event's type, which needs a field `error`.

        Raises:
            EngineError: The engine does not answer, rejects the request, breaks off, or sends an invalid event.
        """
        posted = self._session().post(
            self.url + path, data=msgspec.json.encode(body), headers=sent_to(self.url, headers or {})
        )
        del body  # free the ids of a long prompt
        begun = b""
        try:
            async with posted as response:
                if response.status != 200:
                    raise self._refused(response.status, await response.content.read(_MOST_ERROR_BYTES))
                while chunk := await response.content.readany():
                    *lines, begun = (begun + chunk).split(b"\n")
                    if len(begun) > _MOST_EVENT_BYTES:
                        raise EngineError(f"the engine at {self.url} sends an event without an end")
                    for line in lines:
                        if line.startswith(b"data:") and not line.startswith(_DONE):
                            yield self._event(line[5:], decoder)
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
            raise self._unreachable(error) from None

    def _event(self, data: bytes, decoder: msgspec.json.Decoder[T]) -> T:
        try:
            event = decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise EngineError(f"the engine at {self.url} sends what is no event: {error}") from None
        if event.error is not None:
            code = event.error.get("code") if isinstance(event.error, dict) else None
            raise self._refused(code if isinstance(code, int) else 500, data)
        return event

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            session = self._sessions[loop] = aiohttp.ClientSession(
                headers=self._headers,
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
            )
            atexit.register(_close, weakref.ref(session), loop)
        return session

    def _unreachable(self, error: BaseException) -> EngineError:
        why = str(getattr(error, "reason", error)) or type(error).__name__
        return EngineError(f"the engine at {self.url} does not answer: {why}", 503, is_retryable=True)

    def _refused(self, status: int, body: bytes) -> EngineError:
        said = f"the engine at {self.url} answers {status}: {_reason(body)}"
        sent = status if status in _OF_THE_REQUEST or status in (503, 504) else 502
        return EngineError(said, sent, is_retryable=status in _RETRYABLE)

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()


def _close(session: weakref.ref[aiohttp.ClientSession], loop: asyncio.AbstractEventLoop) -> None:
    """Close a session whose event loop runs until the interpreter ends."""
    found = session()
    if found is not None and not found.closed and loop.is_running():
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(found.close(), loop).result(1)


def _reason(body: bytes) -> str:
    """Return the message in an error's body, in OpenAI's form, in FastAPI's form, or as text."""
    text = body.decode("utf-8", "replace")
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    for name in ("error", "message", "detail"):
        if isinstance(data, dict) and name in data:
            data = data[name]
    return (data if isinstance(data, str) else text)[:_MOST_REASON]
