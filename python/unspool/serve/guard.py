"""Rejects requests with a foreign `Host` or `Origin`, which a web page may have sent, and headers that are too long."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Awaitable
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from unspool.serve.http.api_errors import ApiError

if TYPE_CHECKING:
    from unspool.serve.state import ServerState

__all__ = ["Guard", "is_loopback", "listen_at"]


class Guard:
    """Checks a request's headers before anything else is read."""

    def __init__(self, app: ASGIApp, state: ServerState) -> None:
        self._app = app
        self._state = state

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http":
            self._check_size(scope, Headers(scope=scope))
            scope = _in_origin_form(scope)
            headers = Headers(scope=scope)
            _check_framing(scope, headers)
            host = _host(scope, headers, self._state.checks_host)
            if self._state.checks_host:
                self._check_host(_name(host))
            if (origin := headers.get("origin")) is not None:
                self._check_origin(origin, host)
        return self._app(scope, receive, send)

    def _check_size(self, scope: Scope, headers: Headers) -> None:
        most = self._state.options.max_header_bytes
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > most:
            raise ApiError(414, f"the URI is longer than {most} bytes", code="uri_too_long")
        if sum(len(key) + len(value) for key, value in headers.raw) > most:
            raise ApiError(431, f"the headers are longer than {most} bytes", code="headers_too_large")

    def _check_host(self, name: str) -> None:
        """Reject a foreign name: it may belong to a page that wants to read the answers (DNS rebinding)."""
        if not (is_loopback(name) or name in map(str.lower, self._state.options.allowed_hosts)):
            raise ApiError(
                403,
                f"'{name}' is not a name of this server; --allowed-host {name} allows it",
                code="host_not_allowed",
            )

    def _check_origin(self, origin: str, host: str) -> None:
        """Reject a foreign origin, which a browser sends with each request of a page from another origin."""
        allowed = self._state.options.allowed_origins
        if not ("*" in allowed or origin in allowed or (host and urlsplit(origin).netloc == host)):
            raise ApiError(
                403,
                f"pages of '{origin}' may not call this server; --allowed-origin {origin} allows it",
                code="origin_not_allowed",
            )


def _in_origin_form(scope: Scope) -> Scope:
    """Reduce a target that is a whole URI to its path; the URI's authority replaces `Host` (RFC 9112, 3.2.2)."""
    target = scope["path"].removeprefix("/")
    if not target.startswith(("http://", "https://")):
        return scope
    authority, slash, path = target.partition("://")[2].partition("/")
    headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
    raw_path = quote(slash + path).encode() or b"/"
    return {
        **scope,
        "path": f"/{path}",
        "raw_path": raw_path,
        "headers": [*headers, (b"host", authority.encode("latin-1", "replace"))],
    }


def _check_framing(scope: Scope, headers: Headers) -> None:
    """Reject a request that a server on the way may read as two (RFC 9112, 6.1)."""
    coding = headers.get("transfer-encoding")
    if coding is None:
        return
    if "content-length" in headers or scope.get("http_version") == "1.0":
        why = "not both" if "content-length" in headers else "the former in HTTP/1.0"
        raise ApiError(
            400,
            f"a request has Content-Length or Transfer-Encoding, {why}",
            code="invalid_framing",
            headers={"Connection": "close"},
        )
    if coding.strip().lower() != "chunked":
        raise ApiError(
            501,
            f"the transfer coding '{coding}' is unknown; send 'chunked', or a Content-Length",
            code="unknown_transfer_coding",
            headers={"Connection": "close"},
        )


_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(:\d*)?", re.ASCII)


def _host(scope: Scope, headers: Headers, is_needed: bool) -> str:
    """Return the request's `Host`; HTTP/1.1 requires exactly one (RFC 9112, 3.2)."""
    hosts = headers.getlist("host")
    if not any(hosts) and not is_needed and scope.get("http_version") != "1.1":
        return ""
    if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
        what = "several" if hosts[1:] else "no valid" if any(hosts) else "no"
        raise ApiError(
            400, f"the request has {what} Host; send one, with a name or an address", code="invalid_host"
        )
    return hosts[0]


def listen_at(state: ServerState, host: str) -> None:
    """Check `Host` if the server listens on a loopback address, unless the options allow every name."""
    state.checks_host = "*" not in state.options.allowed_hosts and (state.checks_host or is_loopback(host))


def is_loopback(name: str) -> bool:
    """Whether a host's name or address is a loopback one."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _name(host: str) -> str:
    """Return `Host` without its port."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return name.lower().rstrip(".")
