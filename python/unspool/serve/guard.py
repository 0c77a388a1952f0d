"""Rejects requests that a web page may have sent: a foreign `Host` or `Origin`; and headers that are too long."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from unspool.serve.api_errors import ApiError

if TYPE_CHECKING:
    from unspool.serve.state import ServerState

__all__ = ["Guard", "is_loopback"]


class Guard:
    """Checks a request's headers before anything else is read."""

    def __init__(self, app: ASGIApp, state: ServerState) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            self._check_size(headers)
            host = headers.get("host", "")
            if self._state.checks_host:
                self._check_host(_name(host))
            if (origin := headers.get("origin")) is not None:
                self._check_origin(origin, host)
        await self._app(scope, receive, send)

    def _check_size(self, headers: Headers) -> None:
        most = self._state.options.max_header_bytes
        if sum(len(key) + len(value) for key, value in headers.raw) > most:
            raise ApiError(431, f"the headers are longer than {most} bytes", code="headers_too_large")

    def _check_host(self, name: str) -> None:
        """A name that resolves here may belong to a page that wants to read the answers (DNS rebinding)."""
        if not (is_loopback(name) or name in map(str.lower, self._state.options.allowed_hosts)):
            raise ApiError(
                403,
                f"'{name}' is not a name of this server; --allowed-host {name} allows it",
                code="host_not_allowed",
            )

    def _check_origin(self, origin: str, host: str) -> None:
        """A browser sends it with each request that a page of another origin makes."""
        allowed = self._state.options.allowed_origins
        if not ("*" in allowed or origin in allowed or (host and urlsplit(origin).netloc == host)):
            raise ApiError(
                403,
                f"pages of '{origin}' may not call this server; --allowed-origin {origin} allows it",
                code="origin_not_allowed",
            )


def is_loopback(name: str) -> bool:
    """Whether a host's name or address is this machine's own."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _name(host: str) -> str:
    """`Host` without its port."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return name.lower().rstrip(".")
