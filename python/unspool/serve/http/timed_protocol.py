"""uvicorn's protocol with limits for the time and size of a request's headers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as _Base
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol as _Base

__all__ = ["timed_protocol"]


def timed_protocol(
    timeout_s: float, max_bytes: int, on_shutdown: Callable[[], object] = lambda: None
) -> type[asyncio.Protocol]:
    """Make a protocol that closes a connection whose headers do not arrive.

    uvicorn itself waits without limit for the first request, and for the rest of incomplete headers.

    Args:
        timeout_s: Maximum seconds from the connection, or from a request's first byte, to the end of the headers.
        max_bytes: Maximum size of the headers. Longer ones get 431, or 414 if the first line is too long.
        on_shutdown: Called for each connection when the server stops.
    """

    class TimedProtocol(_Base):
        _headers_timer: asyncio.TimerHandle | None = None
        _header_bytes = 0
        _has_line = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._start_timer()

        def shutdown(self) -> None:
            on_shutdown()
            super().shutdown()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._is_reading_headers() and not self._has_line:
                end = data.find(b"\n")
                self._has_line = end >= 0
                # Check before the parser does, which would report a long line as invalid.
                if self._header_bytes + (end if end >= 0 else len(data)) > max_bytes:
                    self._refuse(b"414 URI Too Long")
                    return
            super().data_received(data)
            if self.transport.is_closing():
                return
            if not self._is_reading_headers():
                self._stop_timer()
                return
            self._header_bytes += len(data)
            if self._header_bytes > max_bytes:
                self._refuse(b"431 Request Header Fields Too Large")
            elif self._headers_timer is None:
                self._start_timer()

        def _is_reading_headers(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _refuse(self, status: bytes) -> None:
            self.transport.write(b"HTTP/1.1 " + status + b"\r\nconnection: close\r\n\r\n")
            self.transport.close()

        def _start_timer(self) -> None:
            self._headers_timer = self.loop.call_later(timeout_s, self._give_up)

        def _stop_timer(self) -> None:
            self._header_bytes = 0
            self._has_line = False
            if self._headers_timer is not None:
                self._headers_timer.cancel()
                self._headers_timer = None

        def _give_up(self) -> None:
            if not self.transport.is_closing():
                self._refuse(b"408 Request Timeout")

    return TimedProtocol
