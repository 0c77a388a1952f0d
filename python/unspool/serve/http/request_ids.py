"""An id for each request, which its response, its errors and the log contain."""

from __future__ import annotations

import logging
import re
import time
import uuid
from contextvars import ContextVar
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["RequestIds", "current_request_id"]

_log = logging.getLogger("unspool.serve")

#: The id of the request that the running code serves; "" outside requests.
current_request_id: ContextVar[str] = ContextVar("unspool_request_id", default="")

# A client's id is kept if it is safe in a log line.
_FIT = re.compile(r"[\w.:@/+=-]{1,128}", re.ASCII)
_LONGEST_PATH = 200
_QUIET = frozenset({"/health", "/liveness", "/readiness", "/metrics"})


class RequestIds:
    """Keeps a client's `X-Request-Id` or makes one, sends it in the response, and logs one line for each request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client_id = Headers(scope=scope).get("x-request-id", "")
        id = client_id if _FIT.fullmatch(client_id) else f"req_{uuid.uuid4().hex}"
        current_request_id.set(id)
        begin_s = time.perf_counter()
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = id
                if scope["path"].startswith("/v1/messages"):
                    headers["request-id"] = id  # Anthropic's name
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            level = logging.DEBUG if scope["path"] in _QUIET else logging.INFO
            took_s = time.perf_counter() - begin_s
            path = quote(scope["path"][:_LONGEST_PATH])
            _log.log(level, "%s %s %d %.3f s request %s", scope["method"], path, status, took_s, id)
