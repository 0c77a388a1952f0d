"""Middleware for every request: API keys, metrics and errors."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Collection, Sequence
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, QueryParams
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unspool.serve.http.api_errors import ApiError, as_api_error, dialect_of, error_response, traceback_of
from unspool.serve.http.metrics import RequestMetrics
from unspool.serve.http.request_ids import current_request_id

if TYPE_CHECKING:
    from unspool.serve.state import ServerState

__all__ = ["ApiKeys", "Measured", "ReportedErrors"]

_log = logging.getLogger("unspool.serve")

# Paths for monitors, which need no key.
_OPEN_PATHS = frozenset({"/health", "/liveness", "/readiness"})


class ApiKeys:
    """Accepts only requests with a key: `Authorization: Bearer …`, `x-api-key`, or the form of Google's clients."""

    def __init__(self, app: ASGIApp, keys: Sequence[str], open_paths: Collection[str] = ()) -> None:
        self._app = app
        self._open_paths = _OPEN_PATHS.union(open_paths)
        self._keys = [key.encode() for key in keys]

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and self._keys and scope["path"] not in self._open_paths:
            headers = Headers(scope=scope)
            kind, _, token = headers.get("authorization", "").partition(" ")
            # A client may send both; Anthropic's SDK does if its environment has a token for another service.
            bearer = token.strip() if kind.lower() == "bearer" else ""
            sent = [bearer, headers.get("x-api-key", ""), headers.get("x-goog-api-key", "")]
            # A header's bytes are read as Latin-1, a query's as UTF-8.
            query = QueryParams(scope["query_string"]).get("key", "")
            sent_keys = [*(text.encode("latin-1") for text in sent), query.encode()]
            # Compare every key, each in constant time.
            same = [hmac.compare_digest(key, text) for key in self._keys for text in sent_keys]
            if any(same):
                scope["unspool.key"] = str(same.index(True) // len(sent_keys))
            else:
                raise ApiError(
                    401,
                    "the API key is missing or wrong; send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'",
                    code="invalid_api_key",
                    headers={"WWW-Authenticate": "Bearer"},
                )
        return self._app(scope, receive, send)


class ReportedErrors:
    """Turns an exception before the first byte into the protocol's own error."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            return
        except Exception as error:
            sent = as_api_error(error)
            if sent.status == 500:
                _log.error("request %s failed\n%s", current_request_id.get(), traceback_of(error))
            if has_begun:
                raise
            await error_response(sent, dialect_of(scope["path"]))(scope, receive, send)


class Measured:
    """Counts each request to the API's own paths when it ends."""

    def __init__(self, app: ASGIApp, state: ServerState, paths: Collection[str]) -> None:
        self._app = app
        self._state = state
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(("/v1/", "/v1beta/")):
            await self._app(scope, receive, send)
            return
        # Unknown paths get no label of their own.
        endpoint = scope["path"] if scope["path"] in self._paths else ""
        metrics = scope["unspool.metrics"] = RequestMetrics(self._state.metrics, endpoint)
        code = 0
        is_whole = False

        async def watched(message: Message) -> None:
            nonlocal code, is_whole
            if message["type"] == "http.response.start":
                code = message["status"]
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                is_whole = True

        try:
            await self._app(scope, receive, watched)
        finally:
            if not is_whole:
                metrics.status = "cancelled"
            metrics.end(code)
